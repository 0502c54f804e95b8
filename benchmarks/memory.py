"""Memory of `CalibratedRegressor`: growth of a fresh process, beside the arrays it was given.

    python benchmarks/memory.py            # 100,000 rows to fit and 100,000 new ones
    python benchmarks/memory.py --quick    # 5,000 and 5,000, of every second case

A table of calibration rows by new rows would take 80 GB. ``want`` is the bound that the project
holds itself to at the full size.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

WANT = 1024.0

CASES = {
    "linear, one width for all": ("LinearRegression()", "scale_estimator=None"),
    "linear, learned scale": ("LinearRegression()", ""),
    "linear, Conditional": ("LinearRegression()", "method='conditional'"),
    "linear, ensemble of 5": ("LinearRegression()", "ensemble=True"),
    "Bayesian ridge": ("BayesianRidge()", ""),
    "boosting": ("HistGradientBoostingRegressor()", ""),
    "random forest of 20": ("RandomForestRegressor(20, min_samples_leaf=20)", ""),
}

CODE = """
import resource, time
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import BayesianRidge, LinearRegression
import trueline as tl
from trueline.estimators import CalibratedRegressor

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

n = {rows}
rng = np.random.default_rng(0)
X = rng.normal(size=(2 * n, 5))
y = X[:, 0] + np.exp(0.5 * X[:, 1]) * rng.normal(size=2 * n)
CalibratedRegressor(LinearRegression(), random_state=0).fit(X[:200], y[:200])  # imports
before, started = peak(), time.perf_counter()
model = CalibratedRegressor({base}, {options}random_state=0).fit(X[:n], y[:n])
fitted = peak()
lower, upper = model.predict_interval(X[n:])
held = ((lower <= y[n:]) & (y[n:] <= upper)).mean()
print(fitted - before, peak() - before, held, time.perf_counter() - started)
"""


def grown(base: str, options: str, rows: int) -> tuple[float, ...]:
    """Growth in MB after fit and after predict, share of intervals that hold, and seconds."""
    code = CODE.format(base=base, options=f"{options}, " if options else "", rows=rows)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return tuple(float(word) for word in done.stdout.split())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="5,000 rows")
    quick = parser.parse_args().quick
    rows = 5_000 if quick else 100_000
    print(f"{rows:,} rows to fit, {rows:,} new ones; X is {2 * rows * 5 * 8 / 2**20:.0f} MB")
    print(f"{'MB grown':<30}{'fit':>8}{'+ predict':>11}{'want':>8}{'90% hold':>10}{'seconds':>9}")
    for name in list(CASES)[:: 2 if quick else 1]:
        base, options = CASES[name]
        fit, both, held, seconds = grown(base, options, rows)
        verdict = "" if both < WANT else "  TOO MUCH"
        print(
            f"{name:<30}{fit:>8.0f}{both:>11.0f}{'<' + format(WANT, '.0f'):>8}{held:>10.3f}"
            f"{seconds:>9.1f}{verdict}",
            flush=True,
        )


if __name__ == "__main__":
    main()
