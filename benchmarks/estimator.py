"""Cost of `CalibratedRegressor.fit`, in fits of the model alone.

    python benchmarks/estimator.py            # 1,000, 10,000 and 100,000 rows; about five minutes
    python benchmarks/estimator.py --quick    # 1,000 and 10,000 rows

CPU seconds of one thread, so that other work on the machine matters little. ``alone`` is the model
itself; the other columns are multiples of it: the defaults, one width for all rows
(``scale_estimator=None``), and ``method="conditional"``. The last column is the bound that the
project holds the defaults to. Ridge is so fast that its bound is in seconds.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import BayesianRidge
from threadpoolctl import threadpool_limits

import trueline as tl

WAYS: dict[str, dict[str, Any]] = {
    "default": {},
    "one width": {"scale_estimator": None},
    "conditional": {"method": "conditional"},
}
MODELS: dict[str, Any] = {
    "boosting": HistGradientBoostingRegressor(random_state=0),
    "forest": RandomForestRegressor(100, min_samples_leaf=3, random_state=0),
    "ridge": BayesianRidge(),
}
#: Most fits of the model that the defaults may cost; for ridge the most seconds.
WANTED = {
    "boosting": {1_000: 10.0, 10_000: 12.0, 100_000: 10.0},
    "forest": {1_000: 4.0, 10_000: 4.0, 100_000: 4.0},
    "ridge": {10_000: 2.0},
}
#: A forest takes minutes on more rows than this, and `Conditional` too.
MOST_FOREST = 10_000


def make_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows whose mean and noise depend on some of eight features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    mean = X[:, 0] + np.sin(2.0 * X[:, 1]) * X[:, 2]
    return X, mean + rng.normal(size=n) * np.exp(0.5 * X[:, 3])


def seconds(job: Callable[[], object], runs: int) -> float:
    """Return the CPU seconds of the fastest run."""
    found = []
    for _ in range(runs):
        started = time.process_time()
        job()
        found.append(time.process_time() - started)
    return min(found)


def measure(name: str, n: int) -> bool:
    """Print one line; return whether the defaults are as cheap as wanted."""
    X, y = make_rows(n)
    model = MODELS[name]
    alone = seconds(lambda: clone(model).fit(X, y), 3)
    cells, default = [], np.nan
    for way, options in WAYS.items():
        if way == "conditional" and n > MOST_FOREST:
            cells.append(f"{'':>12}")
            continue
        calibrated = tl.CalibratedRegressor(model, random_state=0, **options)
        took = seconds(lambda calibrated=calibrated: calibrated.fit(X, y), 2 if n < 5_000 else 1)
        cells.append(f"{took / alone:>12.1f}")
        default = took if way == "default" else default
    most = WANTED[name].get(n)
    found = default if name == "ridge" else default / alone
    unit = " s" if name == "ridge" else ""
    want = "" if most is None else f"at most {most:g}{unit}"
    good = most is None or found <= most
    verdict = "" if most is None else "ok" if good else "NOT"
    times = f"{alone:>9.3f} s {default:>9.2f} s"
    print(f"{name:<9} {n:>8,} {times} {''.join(cells)}  {want:<13} {verdict}", flush=True)
    return good


def main() -> None:
    """Read the options and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="1,000 and 10,000 rows")
    quick = parser.parse_args().quick
    print("model         rows       alone     default " + "".join(f"{w:>12}" for w in WAYS))
    good = True
    with threadpool_limits(1):
        for name in MODELS:
            for n in (1_000, 10_000) if quick else (1_000, 10_000, 100_000):
                if name != "forest" or n <= MOST_FOREST:
                    good &= measure(name, n)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
