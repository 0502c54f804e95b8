"""Figure 2 of the paper: calibrated classification.

A linear support vector machine separates two classes in the plane. The margin of a point, its
distance from the line, says which class is likely, but is not a probability. Three recalibrators
learn the probability from other rows: a histogram, a sigmoid (Platt scaling) and isotonic
regression. Both classes are Gaussian and one in five points of class 1 has the wrong label, so that
the true probability is known but is not a sigmoid.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from reproduce import Progress
from reproduce.pages import comma_separated, command_line, folder, made_by, markdown, page
from reproduce.pictures import (
    INK,
    MUTED,
    Look,
    diagonal,
    looks,
    require_matplotlib,
    save,
    tidy,
    unit_square,
)
from trueline._files import write_text
from trueline.decompositions import BrierDecomposition, brier_decomposition

FloatArray = NDArray[np.float64]

BEFORE, TRUTH = "before", "truth"

#: Centre of class 1; that of class 0 is opposite. The first feature is the more informative one.
CENTRE = np.array([1.0, 0.4])
#: Share of class 1 that has the label 0.
MISLABELLED = 0.2

_COLUMNS = ("brier", "calibration", "calibration_floor", "refinement", "within", "sharpness")
_HEADS = ("Brier score", "calibration", "(by chance)", "refinement", "within bins", "sharpness")
_SHOWN = 400
#: Bins with fewer rows are not drawn.
_FEWEST = 10
_LEGEND: dict[str, Any] = {"framealpha": 0.85, "edgecolor": "none", "handlelength": 2.6}

Probability = Callable[[FloatArray], FloatArray]


class Size(NamedTuple):
    """The size of a run: rows to train, recalibrate and test on, and repeats."""

    train: int
    recalibrate: int
    test: int
    repeats: int


FULL, QUICK = Size(1000, 1000, 10_000, 20), Size(1000, 1000, 2000, 3)


class Trial(NamedTuple):
    """One repeat: test rows, their margins, and the probability by each method."""

    X: FloatArray
    y: NDArray[np.intp]
    margin: FloatArray
    model: Any
    methods: dict[str, Probability]


def run(*, quick: bool, output: Path | None, progress: Progress) -> str:
    """Run the experiment, write its results, return the table."""
    require_matplotlib("reproduce figure2")
    size = QUICK if quick else FULL
    target = folder(output or Path("results") / ("figure2-quick" if quick else "figure2"))
    trials: list[dict[str, BrierDecomposition]] = []
    first = trial(size, 0)
    for seed in range(size.repeats):
        trials.append(judge(first if seed == 0 else trial(size, seed)))
        progress((seed + 1) * sum(size[:3]), (seed + 1) / size.repeats)
    table = _table(trials)
    write_text(target / "brier.csv", _brier_csv(trials))
    write_text(target / "curves.csv", _curves_csv(trials))
    _draw(target / "figure2.png", first, trials[0])
    write_text(target / "figure2.md", _page(table, size, quick))
    return f"{table}\nThe figure, the curves and this table are in {target}."


def truth(X: FloatArray) -> FloatArray:
    """Return P(y = 1 | x)."""
    return (1.0 - MISLABELLED) * expit(2.0 * X @ CENTRE)


def sample(rng: np.random.Generator, n: int) -> tuple[FloatArray, NDArray[np.intp]]:
    """Draw n points and their labels."""
    one = rng.random(n) < 0.5
    X = rng.normal(size=(n, 2)) + np.where(one[:, None], CENTRE, -CENTRE)
    y = one & (rng.random(n) >= MISLABELLED)
    return X, y.astype(np.intp)


def trial(size: Size, seed: int) -> Trial:
    """Train the classifier, recalibrate it in three ways, and draw test rows."""
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(seed)
    model = LinearSVC(random_state=seed).fit(*sample(rng, size.train))
    X_fit, y_fit = sample(rng, size.recalibrate)
    X, y = sample(rng, size.test)
    methods: dict[str, Probability] = {
        # The probability if the margin were its logit.
        BEFORE: lambda X: expit(model.decision_function(X)),
        "histogram": _histogram(model, X_fit, y_fit),
        "sigmoid": _of_scikit_learn(model, "sigmoid", X_fit, y_fit),
        "isotonic": _of_scikit_learn(model, "isotonic", X_fit, y_fit),
        TRUTH: truth,
    }
    return Trial(X, y, model.decision_function(X), model, methods)


def _histogram(model: Any, X: FloatArray, y: NDArray[np.intp], bins: int = 10) -> Probability:
    """Return the share of class 1 in bins of the margin with equal numbers of rows."""
    margin = model.decision_function(X)
    inner = np.quantile(margin, np.arange(1, bins) / bins)
    bin_of = np.searchsorted(inner, margin)
    share = np.bincount(bin_of, y, bins) / np.bincount(bin_of, minlength=bins)
    return lambda X: share[np.searchsorted(inner, model.decision_function(X))]


def _of_scikit_learn(model: Any, method: str, X: FloatArray, y: NDArray[np.intp]) -> Probability:
    """Recalibrate with scikit-learn, without changing the classifier."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    fitted = CalibratedClassifierCV(FrozenEstimator(model), method=method).fit(X, y)
    return lambda X: fitted.predict_proba(X)[:, 1]


def judge(trial: Trial) -> dict[str, BrierDecomposition]:
    """Decompose the Brier score of every method on the test rows."""
    return {
        name: brier_decomposition(trial.y, method(trial.X))
        for name, method in trial.methods.items()
    }


def _over_repeats(
    trials: list[dict[str, BrierDecomposition]], method: str, column: str
) -> tuple[float, float]:
    """Return the mean and its standard error."""
    values = np.array([getattr(parts[method], column) for parts in trials])
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(values.size))


def _table(trials: list[dict[str, BrierDecomposition]]) -> str:
    rows = []
    for method in trials[0]:
        cells = [method]
        for column in _COLUMNS:
            mean, error = _over_repeats(trials, method, column)
            is_floor = column == "calibration_floor"
            cells.append(f"{mean:.4f}" if is_floor else f"{mean:.4f} ± {error:.4f}")
        rows.append(cells)
    return markdown(("", *_HEADS), rows)


def _brier_csv(trials: list[dict[str, BrierDecomposition]]) -> str:
    rows = [
        (seed, method, *(repr(getattr(result, column)) for column in _COLUMNS))
        for seed, parts in enumerate(trials)
        for method, result in parts.items()
    ]
    return comma_separated(("seed", "method", *_COLUMNS), rows)


def _curves_csv(trials: list[dict[str, BrierDecomposition]]) -> str:
    rows = [
        (seed, method, repr(low), repr(high), repr(predicted), repr(observed), int(count))
        for seed, parts in enumerate(trials)
        for method, curve in parts.items()
        for low, high, predicted, observed, count in zip(
            curve.edges[:-1].tolist(),
            curve.edges[1:].tolist(),
            curve.predicted.tolist(),
            curve.observed.tolist(),
            curve.counts.tolist(),
            strict=True,
        )
        if count
    ]
    heads = ("seed", "method", "lower", "upper", "predicted", "observed", "count")
    return comma_separated(heads, rows)


def _page(table: str, size: Size, quick: bool) -> str:
    command = command_line("figure2", {"quick": quick})
    values = {
        "made": f"{made_by(command, ['matplotlib'])} Seeds 0 to {size.repeats - 1}.",
        "table": table,
        "repeats": str(size.repeats),
        "train": f"{size.train:,}",
        "recalibrate": f"{size.recalibrate:,}",
        "test": f"{size.test:,}",
        "shown": str(_SHOWN),
        "fewest": str(_FEWEST),
        "centre": ", ".join(map(str, CENTRE.tolist())),
        "mislabelled": f"{100.0 * MISLABELLED:.0f}%",
    }
    return page("figure2", command, values)


def _draw(path: Path, trial: Trial, parts: dict[str, BrierDecomposition]) -> None:
    """Draw the three panels of the paper's figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 4.4), layout="constrained", dpi=110)
    left, middle, right = figure.subplots(1, 3)
    _draw_points(left, trial)
    _draw_margins(middle, trial)
    _draw_curves(right, parts)
    save(figure, path)


def _draw_points(ax: Any, trial: Trial) -> None:
    X, y = trial.X[:_SHOWN], trial.y[:_SHOWN]
    ax.scatter(*X[y == 0].T, s=16, facecolors="none", edgecolors=MUTED, label="y = 0")
    ax.scatter(*X[y == 1].T, s=16, c=INK, marker="^", label="y = 1")
    (slope_1, slope_2), offset = trial.model.coef_[0], trial.model.intercept_[0]
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    across = np.array([low[1], high[1]])
    ax.plot(-(offset + slope_2 * across) / slope_1, across, color=INK, linewidth=1.4)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), title="two classes and a line")
    ax.set(xlabel="first feature", ylabel="second feature")
    ax.legend(loc="upper left", **_LEGEND)
    tidy(ax)


def _draw_margins(ax: Any, trial: Trial) -> None:
    """Draw the probability of class 1 by margin."""
    normal, offset = trial.model.coef_[0], trial.model.intercept_[0]
    low, high = np.quantile(trial.margin, [0.001, 0.999])
    grid = np.linspace(low, high, 600)
    # Points on the normal through the origin. Their true probability is that of all points with
    # their margin: log odds of 2 m (n . centre) / (n . n), with m the margin less the offset.
    points = np.outer((grid - offset) / (normal @ normal), normal)
    ax.plot(grid, truth(points), color=MUTED, linewidth=5.0, alpha=0.5, label="truth")
    for name, look in _looks(trial.methods).items():
        ax.plot(grid, trial.methods[name](points), label=name, **look.line())
    ax.set(ylim=(-0.02, 1.02), title="probability of class 1")
    ax.set(xlabel="margin", ylabel="probability")
    ax.legend(loc="upper left", **_LEGEND)
    tidy(ax)


def _draw_curves(ax: Any, parts: dict[str, BrierDecomposition]) -> None:
    diagonal(ax)
    for name, look in _looks(parts).items():
        curve = parts[name]
        shown = curve.counts >= _FEWEST
        p, o = curve.predicted[shown], curve.observed[shown]
        error = 2.0 * np.sqrt(p * (1.0 - p) / curve.counts[shown])  # if the forecast were true
        ax.vlines(p, o - error, o + error, color=look.color, linewidth=1.0, alpha=0.7)
        ax.plot(p, o, label=name, **look.line(), **look.markers())
    ax.set(title="calibration in ten bins")
    ax.set(xlabel="predicted probability", ylabel="observed frequency")
    ax.legend(loc="lower right", **_LEGEND)
    unit_square(ax)


def _looks(names: Any) -> dict[str, Look]:
    """Return the looks of the methods, the same in every panel."""
    drawn = [name for name in names if name != TRUTH]
    return dict(zip(drawn, looks(len(drawn)), strict=True))
