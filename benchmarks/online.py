"""`Online`: what a stream costs beside an offline fit, and whether its memory stays flat.

    python benchmarks/online.py            # 1e6 rows for the time, 1e7 for the memory
    python benchmarks/online.py --quick    # a tenth of that

Times are minima of rounds that take turns, so that a busy machine slows all alike; ``want`` is the
bound that the project holds itself to at the full size. Forecasts are made beforehand, as they
come from outside. The offline fit sorts; so does the first ``transform`` after updates, which is
why it is shown as well.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np

import trueline as tl

BATCH = 1000
WANT = 5.0
MODES = {
    "all rows": {},
    "window of 10,000": {"window": 10_000},
    "half-life of 1,000": {"half_life": 1000},
    "all rows, adaptive": {"coverage": 0.9},
    "window of 10,000, adaptive": {"window": 10_000, "coverage": 0.9},
}


def updated(batches: list[tuple[np.ndarray, tl.Distribution]], **params: float) -> tl.Online:
    online = tl.Online(**params)
    for y, dist in batches:
        online.update(y, dist)
    return online


def minima(jobs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    best = dict.fromkeys(jobs, np.inf)
    for _ in range(rounds):
        for name, job in jobs.items():
            started = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def times(rows: int) -> None:
    y = np.random.default_rng(0).normal(size=rows)
    whole = tl.Normal(np.zeros(rows), 1.0)
    one_batch = tl.Normal(np.zeros(BATCH), 1.0)
    batches = [(y[i : i + BATCH], one_batch) for i in range(0, rows, BATCH)]
    jobs: dict[str, Callable[[], object]] = {"fit": lambda: tl.Isotonic().fit(y, whole)}
    jobs["fit and its map"] = lambda: tl.Isotonic().fit(y, whole).law_
    jobs["all rows"] = lambda: updated(batches)
    jobs["all rows and their map"] = lambda: updated(batches).law_
    best = minima(jobs, 9)
    slow = {name: lambda p=p: updated(batches, **p) for name, p in MODES.items() if p}
    best |= minima(slow, 2)
    print(f"{rows:,} rows in batches of {BATCH:,}{'ms':>10}{'times the fit':>16}")
    for name, seconds in best.items():
        want = f"   want at most {WANT:g}" if name == "all rows" else ""
        print(f"{name:<32}{1e3 * seconds:>10.0f}{seconds / best['fit']:>16.1f}{want}")


def single_rows() -> None:
    y = np.random.default_rng(1).normal(size=23_000)
    forecast = tl.Normal(0.0, 1.0)
    print(f"\none row at a time, microseconds{'update':>10}{'and transform':>16}")
    for name, params in MODES.items():
        online = tl.Online(**params).fit(y[:20_000], tl.Normal(np.zeros(20_000), 1.0))
        started = time.perf_counter()
        for value in y[20_000:22_000]:
            online.update(value, forecast)
        between = time.perf_counter()
        for value in y[22_000:]:
            online.transform(forecast).interval(0.9)
            online.update(value, forecast)
        ended = time.perf_counter()
        alone, both = (between - started) / 2000, (ended - between) / 1000
        print(f"{name:<31}{1e6 * alone:>10.0f}{1e6 * both:>16.0f}")


def memory(rows: int) -> None:
    print(f"\n{rows:,} rows: growth of the process in MB, tenth by tenth")
    rng = np.random.default_rng(2)
    dist = tl.Normal(np.zeros(BATCH), 1.0)
    _ = tl.Online().fit(rng.normal(size=BATCH), dist).law_
    for name, params in (("window of 10,000", {"window": 10_000}), ("all rows", {})):
        before = _peak()
        online = tl.Online(**params)
        grown = []
        for i in range(rows // BATCH):
            online.update(rng.normal(size=BATCH), dist)
            if (i + 1) % (rows // BATCH // 10) == 0:
                _ = online.law_
                grown.append(_peak() - before)
        print(f"{name:<20}" + "".join(f"{mb:>7.0f}" for mb in grown))


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    memory(10**6 if quick else 10**7)
    times(10**5 if quick else 10**6)
    single_rows()


if __name__ == "__main__":
    main()
