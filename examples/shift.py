"""Covariate shift on the airfoil set: how often 90% intervals hold on another mix of rows.

    TRUELINE_DATA=folder python examples/shift.py --output results/shift.md

The folder holds ``clear/airfoil.csv.gz``, from the public repository Unco3892/clear. The mix is
that of Tibshirani et al. (2019, section 2): a quarter of the rows trains a linear regression, a
quarter calibrates, and new rows are drawn from the other half with weights exp(x'b) for
b = (-1, 0, 0, 0, 1), after the first and the fifth feature are replaced by their logarithms.
"""

from __future__ import annotations

import argparse
import gzip
import io
import sys
import warnings
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
from league import check_output, made_by
from sklearn.linear_model import LinearRegression

import trueline as tl
from trueline._files import write_text

CHECKSUM = "fbfc411d80c18f37cf628b8a6bc75b96a4c969c27aa79fa2c976e9604fa578c4"
SOURCE = "airfoil.csv of the public repository Unco3892/clear"
TILT = np.array([-1.0, 0.0, 0.0, 0.0, 1.0])
RUNS, FEW_RUNS = 60, 6

#: Ways to calibrate, in the order of the tables.
WAYS = {
    "none": "no weights",
    "true": "true weights",
    "true, own mass": "true weights, and the mass of each new row",
    "estimated": "`shift_weights`",
    "estimated, own mass": "`shift_weights`, and the mass of each new row",
    "adapt": "`model.adapt(X_new)`, calibrated by folds of both quarters",
    "folds": "the same model without `adapt`",
}


@cache
def load() -> tuple[np.ndarray, np.ndarray]:
    """Return features, two of them as logarithms, and outcomes."""
    content = tl.datasets.read_data_file(
        "clear/airfoil.csv.gz", CHECKSUM, source=SOURCE, remedy="Clone that repository to get it"
    )
    table = np.loadtxt(io.BytesIO(gzip.decompress(content)), delimiter=",", skiprows=1)
    X, y = table[:, :5].copy(), table[:, 5]
    X[:, [0, 4]] = np.log(X[:, [0, 4]])
    return X, y


def forecasts(
    X: np.ndarray, y: np.ndarray, X_new: np.ndarray, tilt: np.ndarray, seed: int
) -> tuple[dict[str, tl.Distribution], tl.shift.ShiftWeights]:
    """Return forecasts of new rows in all ways, and the estimated weights."""
    half = len(y) // 2
    base = LinearRegression().fit(X[:half], y[:half])
    X_cal, y_cal = X[half:], y[half:]
    F, F_new = tl.Point(base.predict(X_cal)), tl.Point(base.predict(X_new))
    shift = tl.shift_weights(X_cal, X_new, random_state=seed)
    # Only ratios of weights count, so both are divided by the same mean.
    true, true_new = np.exp(X_cal @ tilt), np.exp(X_new @ tilt)
    weights = {
        "none": (None, None),
        "true": (true / true.mean(), None),
        "true, own mass": (true / true.mean(), true_new / true.mean()),
        "estimated": (shift.weights, None),
        "estimated, own mass": (shift.weights, shift.of(X_new)),
    }
    found = {
        name: tl.Isotonic().fit(y_cal, F, sample_weight=w).transform(F_new, sample_weight=v)
        for name, (w, v) in weights.items()
    }
    model = tl.CalibratedRegressor(LinearRegression(), scale_estimator=None, random_state=seed).fit(
        X, y
    )
    found["folds"] = model.predict_dist(X_new)
    found["adapt"] = model.adapt(X_new).predict_dist(X_new)
    return found, shift


def run(seed: int, tilt: np.ndarray) -> tuple[dict[str, tuple[float, ...]], float]:
    """Return coverage, width and CRPS of each way in one split, and the effective rows."""
    X, y = load()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))
    old, pool = order[: len(y) // 2], order[len(y) // 2 :]
    chance = np.exp(X[pool] @ tilt)
    new = rng.choice(pool, len(pool) // 4, p=chance / chance.sum())
    dists, shift = forecasts(X[old], y[old], X[new], tilt, seed)
    scores = {}
    for name, dist in dists.items():
        lower, upper = dist.interval(0.9)
        held = float(((lower <= y[new]) & (y[new] <= upper)).mean())
        scores[name] = held, float((upper - lower).mean()), tl.crps(y[new], dist)
    return scores, shift.effective_rows


def refusals(runs: int) -> int:
    """Return in how many splits weights are refused if the higher frequencies are all new."""
    X, _ = load()
    refused = 0
    for seed in range(runs):
        rows = np.random.default_rng(seed).permutation(len(X))[: len(X) // 2]
        high = X[rows, 0] > np.median(X[:, 0])
        try:
            tl.shift_weights(X[rows][~high], X[rows][high], random_state=seed)
        except ValueError:
            refused += 1
    return refused


def table(tilt: np.ndarray, runs: int) -> tuple[list[str], float]:
    """Return the lines of a table of means over the runs, and the mean effective rows."""
    found = [run(seed, tilt) for seed in range(runs)]
    values = np.array([[scores[name] for name in WAYS] for scores, _ in found])
    mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(runs)
    crps = values[:, :, 2].mean(axis=0)
    lines = ["| calibration | 90% hold | mean width | CRPS |", "|---|---|---|---|"]
    for k, text in enumerate(WAYS.values()):
        held = f"{mean[k, 0]:.1%} ± {error[k, 0]:.1%}"
        lines.append(f"| {text} | {held} | {mean[k, 1]:.2f} | {crps[k]:.3f} |")
    return lines, float(np.mean([rows for _, rows in found]))


def page(runs: int) -> str:
    """Return the page with both tables."""
    n = len(load()[1])
    fresh = (n - n // 2) // 4
    shifted, effective = table(TILT, runs)
    same, kept = table(np.zeros(5), runs)
    refused = refusals(runs)
    lines = [
        "# Covariate shift",
        "",
        made_by(["python", "examples/shift.py"]),
        "",
        f"The airfoil set has {n:,} rows and 5 features. As in Tibshirani et al. (2019), a",
        "quarter of the rows trains a linear regression, a quarter calibrates, and",
        f"{fresh} new rows are drawn from the other half, with replacement. Numbers are",
        f"means over {runs} random splits, with the standard error of the coverage.",
        "`shift_weights` sees the features alone. The models in the last two rows of a table",
        "train and calibrate on both quarters, by folds.",
        "",
        "## Tilted mix",
        "",
        "New rows are drawn with weights exp(x'b), b = (-1, 0, 0, 0, 1), where the first and the",
        f"fifth feature are logarithms. Estimated weights are worth {effective:.0f} rows.",
        "",
        *shifted,
        "",
        "## No shift",
        "",
        f"New rows are drawn with equal weights. Estimated weights are worth {kept:.0f} rows.",
        "",
        *same,
        "",
        "## No overlap",
        "",
        "The lower half of the frequencies calibrates, and the upper half is new: weights are",
        f"refused in {refused} of {runs} splits.",
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print, as Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--output", type=Path, help="Markdown file to write the tables to")
    parser.add_argument("--quick", action="store_true", help=f"{FEW_RUNS} splits, not {RUNS}")
    options = parser.parse_args(arguments)
    check_output(parser, options.output)
    try:
        with warnings.catch_warnings():
            # Rows that are unlike all others have intervals from the tails, which is intended.
            warnings.simplefilter("ignore", tl.CalibrationWarning)
            text = page(FEW_RUNS if options.quick else RUNS)
    except tl.datasets.DatasetError as error:
        sys.exit(str(error))
    print(text, end="")
    if options.output is not None:
        write_text(options.output, text)


if __name__ == "__main__":
    main()
