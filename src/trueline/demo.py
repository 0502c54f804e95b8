"""Recalibrate an over-confident model and see what it gains: ``python -m trueline.demo``.

The mistake is a common one. A Bayesian linear regression on scikit-learn's diabetes data gives the
error bars of the regression line, how well its weights are known, and leaves out the scatter of
the patients around that line. A third of the patients trains the model, a third fits the
recalibrator, and a third that neither has seen judges both, in many random splits.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import train_test_split

import trueline as tl

SPLITS = 100

Measures = dict[str, float]

# label, field of the evaluation, format, what to wish for
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
    """Forecast with the uncertainty of the regression line alone, without the noise."""
    mean, std = model.predict(X, return_std=True)
    return tl.Normal(mean, np.sqrt(std**2 - 1 / model.alpha_))


def compare(seed: int) -> tuple[Measures, Measures]:
    """Evaluate the model on patients it has not seen, before and after recalibration."""
    X, y = load_diabetes(return_X_y=True)
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, train_size=1 / 3, random_state=seed)
    X_cal, X_test, y_cal, y_test = train_test_split(
        X_rest, y_rest, train_size=1 / 2, random_state=seed
    )
    model = BayesianRidge().fit(X_train, y_train)

    F = forecast(model, X_test)
    R = tl.Isotonic().fit(y_cal, forecast(model, X_cal))
    G = R.transform(F)

    before, after = tl.evaluate(y_test, F), tl.evaluate(y_test, G, n_fit=len(y_cal))
    return before.to_dict(), after.to_dict()


def average(measures: tuple[Measures, ...]) -> Measures:
    """Average each measure over the splits."""
    return {name: float(np.mean([m[name] for m in measures])) for name in measures[0]}


def main() -> None:
    """Print what recalibration changes: in words, then in numbers."""
    before, after = map(average, zip(*map(compare, range(SPLITS)), strict=True))
    wider = after["interval_width"] / before["interval_width"]

    print("How far will a patient's diabetes progress? A Bayesian linear regression answers with")
    print("error bars that know its own doubt but forget how much patients differ.")
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


if __name__ == "__main__":
    main()
