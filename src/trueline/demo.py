"""Recalibrate an over-confident model and show the effect: ``python -m trueline.demo``.

The model makes a common mistake. A Bayesian linear regression on scikit-learn's diabetes data gives
the error bars of the regression line, which is the uncertainty of its weights, and leaves out the
scatter of the patients around that line. A third of the patients trains the model, a third fits the
recalibrator, and the last third tests both, in many random splits. The report shows the most
typical split.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import train_test_split

import trueline as tl
from trueline._messages import printable
from trueline._progress import progress

SPLITS = 100

Measures = dict[str, float]

# label, field of the evaluation, format, wanted value
TABLE = [
    ("90% intervals hold", "coverage", ".1%", "90.0%"),
    ("width of 90% intervals", "interval_width", ".0f", "narrow, once they hold"),
    ("calibration error", "calibration_error", ".3f", "{calibration_floor:.3f}, the floor"),
    ("interval score", "interval_score", ".0f", "low"),
    ("CRPS", "crps", ".1f", "low"),
    ("log score", "log_score", ".2f", "low"),
    ("error of the median", "mae", ".1f", "low"),
]


def forecast(model: Any, X: NDArray[np.float64]) -> tl.Normal:
    """Forecast with the uncertainty of the regression line, without the noise."""
    mean, std = model.predict(X, return_std=True)
    return tl.Normal(mean, np.sqrt(std**2 - 1 / model.alpha_))


class Split(NamedTuple):
    """Test patients, which neither the model nor the map has seen, and their forecasts."""

    patients: NDArray[np.intp]
    y: NDArray[np.float64]
    before: tl.Distribution
    after: tl.Distribution
    n_fit: int


def split(seed: int) -> Split:
    """Train on a third of the patients, recalibrate on a third, forecast the last third."""
    X, y = load_diabetes(return_X_y=True)
    train, rest = train_test_split(np.arange(len(y)), train_size=1 / 3, random_state=seed)
    held_out, test = train_test_split(rest, train_size=1 / 2, random_state=seed)
    model = BayesianRidge().fit(X[train], y[train])

    F = forecast(model, X[test])
    R = tl.Isotonic().fit(y[held_out], forecast(model, X[held_out]))
    return Split(test, y[test], F, R.transform(F), len(held_out))


def compare(seed: int) -> tuple[Measures, Measures]:
    """Evaluate the model on the test patients, before and after recalibration."""
    shown = split(seed)
    before = tl.evaluate(shown.y, shown.before)
    after = tl.evaluate(shown.y, shown.after, n_fit=shown.n_fit)
    return before.to_dict(), after.to_dict()


def most_typical(results: Sequence[tuple[Measures, Measures]]) -> int:
    """Return the seed of the split whose coverages are nearest to their means over all splits."""
    found = np.array([[m["coverage"] for m in pair] for pair in results])
    return int(np.abs(found - found.mean(axis=0)).sum(axis=1).argmin())


def average(measures: tuple[Measures, ...]) -> Measures:
    """Average each measure over the splits."""
    return {name: float(np.mean([m[name] for m in measures])) for name in measures[0]}


def main(output: str | Path = "report.html", *, force: bool = True) -> None:
    """Print the effect of recalibration and write a report; ``force`` replaces an existing file."""
    results = []
    with progress("demo", "splits") as report:
        for seed in range(SPLITS):
            results.append(compare(seed))
            report(seed + 1, (seed + 1) / SPLITS)
    before, after = map(average, zip(*results, strict=True))
    wider = after["interval_width"] / before["interval_width"]
    page = write_page(results, output, force=force)

    print("How far will a patient's diabetes progress? A Bayesian linear regression answers with")
    print("error bars that contain its own uncertainty but not the differences between patients.")
    print()
    print(f"before: 90% intervals hold {before['coverage']:.1%} of the time")
    print(
        f"after:  90% intervals hold {after['coverage']:.1%} of the time; {wider:.1f} times wider"
    )
    print()
    print(f"{'':24}{'before':>10}{'after':>10}   wanted")
    for label, name, spec, wanted in TABLE:
        numbers = "".join(format(m[name], spec).rjust(10) for m in (before, after))
        print(f"{label:24}{numbers}   {wanted.format(**after)}")
    print()
    print(
        f"Means over {SPLITS} random splits: a third trains, a third recalibrates, a third tests."
    )
    print(f"The most typical split, as a page to open in a browser: {printable(page)}")


def write_page(
    results: Sequence[tuple[Measures, Measures]], output: str | Path, *, force: bool = True
) -> Path:
    """Write the report of the most typical split; return its path."""
    shown = split(most_typical(results))
    data = load_diabetes(scaled=False)  # ages in years
    columns = dict(zip(data.feature_names, data.data[shown.patients].T, strict=True))
    path = tl.report(
        shown.y,
        {"before": shown.before, "after": shown.after},
        output,
        x=columns,
        groups=np.where(columns["age"] < 50, "under 50", "50 and older"),
        n_fit=shown.n_fit,
        title="Diabetes: a linear regression that forgets the noise",
        y_name="disease progression",
        force=force,
    )
    return Path(path).resolve()


if __name__ == "__main__":
    main(*sys.argv[1:2])
