"""Figure 2 of the paper: calibrated classification.

Two classes in the plane are told apart by a linear support vector machine. How far a point lies
from the line, its margin, says which class is likely but not how likely. Three recalibrators learn
that from other rows: a histogram, a sigmoid (Platt scaling) and isotonic regression. Both classes
are Gaussian, but one in five of the points of class 1 goes by the other label, so that the truth
is known, yet no sigmoid.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from reproduce import Progress
from reproduce.record import comma_separated, folder, made_by, markdown
from trueline._files import whole_file, write_text
from trueline._validation import FloatArray
from trueline.displays import _style
from trueline.metrics import BrierDecomposition, brier_decomposition

BEFORE, TRUTH = "before", "truth"

#: Centre of class 1; that of class 0 lies opposite. The first feature tells more than the second.
CENTRE = np.array([1.0, 0.4])
#: Share of class 1 that goes by the label 0.
MISLABELLED = 0.2

_COLUMNS = ("brier", "calibration", "calibration_floor", "refinement", "within", "sharpness")
_HEADS = ("Brier score", "calibration", "(by chance)", "refinement", "within bins", "sharpness")
_SHOWN = 400
_LEGEND: dict[str, Any] = {"framealpha": 0.85, "edgecolor": "none", "handlelength": 2.6}

Probability = Callable[[FloatArray], FloatArray]


class Size(NamedTuple):
    """How much of it: rows that train, recalibrate and test, and repeats."""

    train: int
    recalibrate: int
    test: int
    repeats: int


FULL, QUICK = Size(1000, 1000, 10_000, 20), Size(1000, 1000, 2000, 3)


class Trial(NamedTuple):
    """One repeat: test rows, their margins, and what each method makes of features."""

    X: FloatArray
    y: NDArray[np.intp]
    margin: FloatArray
    model: Any
    methods: dict[str, Probability]


def run(*, quick: bool, output: Path, progress: Progress) -> str:
    """Run the experiment, write its results, return the table."""
    _style.require_matplotlib("reproduce figure2")
    size = QUICK if quick else FULL
    target = folder(output)
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
    """P(y = 1 | x)."""
    return (1.0 - MISLABELLED) * expit(2.0 * X @ CENTRE)


def sample(rng: np.random.Generator, n: int) -> tuple[FloatArray, NDArray[np.intp]]:
    """Draw n points and their labels."""
    one = rng.random(n) < 0.5
    X = rng.normal(size=(n, 2)) + np.where(one[:, None], CENTRE, -CENTRE)
    y = one & (rng.random(n) >= MISLABELLED)
    return X, y.astype(np.intp)


def trial(size: Size, seed: int) -> Trial:
    """Train the classifier, recalibrate it in three ways, draw rows to judge it on."""
    from sklearn.svm import LinearSVC

    rng = np.random.default_rng(seed)
    model = LinearSVC(random_state=seed).fit(*sample(rng, size.train))
    X_fit, y_fit = sample(rng, size.recalibrate)
    X, y = sample(rng, size.test)
    methods: dict[str, Probability] = {
        # What it would mean if it were a probability on the logistic scale.
        BEFORE: lambda X: expit(model.decision_function(X)),
        "histogram": _histogram(model, X_fit, y_fit),
        "sigmoid": _of_scikit_learn(model, "sigmoid", X_fit, y_fit),
        "isotonic": _of_scikit_learn(model, "isotonic", X_fit, y_fit),
        TRUTH: truth,
    }
    return Trial(X, y, model.decision_function(X), model, methods)


def _histogram(model: Any, X: FloatArray, y: NDArray[np.intp], bins: int = 10) -> Probability:
    """Share of class 1 in bins of the margin that hold the same number of rows."""
    margin = model.decision_function(X)
    inner = np.quantile(margin, np.arange(1, bins) / bins)
    bin_of = np.searchsorted(inner, margin)
    share = np.bincount(bin_of, y, bins) / np.bincount(bin_of, minlength=bins)
    return lambda X: share[np.searchsorted(inner, model.decision_function(X))]


def _of_scikit_learn(model: Any, method: str, X: FloatArray, y: NDArray[np.intp]) -> Probability:
    """Recalibrate by scikit-learn, leaving the classifier as it is."""
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
    """Mean and standard error."""
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
    made = made_by("figure2", {"quick": quick}, ["matplotlib"])
    return f"""# Figure 2: calibrated classification

{made} Seeds 0 to {size.repeats - 1}.

![A linear classifier, its margins as probabilities, and the calibration curves](figure2.png)

Left: test points of seed 0, {_SHOWN} of them, and the line of a linear support vector machine.
Middle: probability of class 1 by margin. `before` reads the margin as log odds, which it is not;
the others learned it from rows that the classifier was not trained on. Right: the calibration
curve in ten bins, with two standard errors that the share in a bin would have if the forecast were
true; the straight line is true.

{table}
Means over {size.repeats} repeats and their standard errors. In each, {size.train:,} rows train the
classifier, {size.recalibrate:,} others recalibrate it, {size.test:,} others judge it. The Brier
score is the sum of calibration, refinement and what ten bins hide within them, exactly
(`trueline.brier_decomposition`); lower is better. `(by chance)` is the calibration term that a true
forecast would have on as many test rows. Sharpness is the mean of var f = f (1 - f). `truth` knows
P(y = 1 | x), which no method can. In `brier.csv` and `curves.csv` is every repeat.
"""


def _draw(path: Path, trial: Trial, parts: dict[str, BrierDecomposition]) -> None:
    """Draw the three panels of the paper's figure."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(13.0, 4.4), layout="constrained", dpi=110)
    left, middle, right = figure.subplots(1, 3)
    _draw_points(left, trial)
    _draw_margins(middle, trial)
    _draw_curves(right, parts)
    with whole_file(path) as file:
        figure.savefig(file, format="png", metadata={"Software": None})


def _draw_points(ax: Any, trial: Trial) -> None:
    X, y = trial.X[:_SHOWN], trial.y[:_SHOWN]
    ax.scatter(*X[y == 0].T, s=16, facecolors="none", edgecolors=_style.MUTED, label="y = 0")
    ax.scatter(*X[y == 1].T, s=16, c=_style.ink(ax), marker="^", label="y = 1")
    (slope_1, slope_2), offset = trial.model.coef_[0], trial.model.intercept_[0]
    low, high = X.min(axis=0) - 0.3, X.max(axis=0) + 0.3
    across = np.array([low[1], high[1]])
    ax.plot(-(offset + slope_2 * across) / slope_1, across, color=_style.ink(ax), linewidth=1.4)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), title="two classes and a line")
    _style.label_axes(ax, "first feature", "second feature")
    ax.legend(loc="upper left", **_LEGEND)
    _style.tidy(ax)


def _draw_margins(ax: Any, trial: Trial) -> None:
    """Draw the probability of class 1 by margin."""
    normal, offset = trial.model.coef_[0], trial.model.intercept_[0]
    low, high = np.quantile(trial.margin, [0.001, 0.999])
    grid = np.linspace(low, high, 600)
    # Points on the normal through the origin. They also have the true probability of all points
    # of their margin: log odds of 2 m (n . centre) / (n . n), with m the margin less the offset.
    points = np.outer((grid - offset) / (normal @ normal), normal)
    ax.plot(grid, truth(points), color=_style.MUTED, linewidth=5.0, alpha=0.5, label="truth")
    for name, look in _looks(ax, trial.methods).items():
        ax.plot(grid, trial.methods[name](points), label=name, **look.line())
    ax.set(ylim=(-0.02, 1.02), title="probability of class 1")
    _style.label_axes(ax, "margin", "probability")
    ax.legend(loc="upper left", **_LEGEND)
    _style.tidy(ax)


def _draw_curves(ax: Any, parts: dict[str, BrierDecomposition]) -> None:
    ax.plot([0, 1], [0, 1], color=_style.MUTED, linewidth=1.0)
    for name, look in _looks(ax, parts).items():
        curve = parts[name]
        filled = curve.counts > 0
        p, o = curve.predicted[filled], curve.observed[filled]
        error = 2.0 * np.sqrt(p * (1.0 - p) / curve.counts[filled])  # if the forecast were true
        ax.vlines(p, o - error, o + error, color=look.color, linewidth=1.0, alpha=0.7)
        ax.plot(p, o, label=name, **look.marked_line(_style.paper(ax)))
    ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), title="calibration in ten bins")
    ax.set_aspect("equal", adjustable="box")
    _style.label_axes(ax, "predicted probability", "observed frequency")
    ax.legend(loc="lower right", **_LEGEND)
    _style.tidy(ax)


def _looks(ax: Any, names: Any) -> dict[str, _style.Look]:
    """Looks of the methods, the same in every panel."""
    drawn = [name for name in names if name != TRUTH]
    return dict(zip(drawn, _style.looks(ax, len(drawn)), strict=True))
