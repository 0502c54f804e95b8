"""Planning an order: how it grows with shelf life, stock range and horizon.

    python benchmarks/inventory.py            # about a minute
    python benchmarks/inventory.py --quick    # fewer cases and rounds

One thread. Times are minima of rounds in which the plan and its floor take turns, so that a busy
machine slows both alike. The floor of a plan is to read and to write every entry of the tables that
it needs once a day, for each day of the horizon: a table holds the value of each stock that day,
and on an order day that of each order too. ``want`` is the most floors that the project allows a
plan at the real scale, which is that of the paper's larger store: 700 units a day, a shelf life of
5 days, orders on Monday, Wednesday and Friday, 14 days ahead.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from math import prod

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import trueline as tl
from trueline.inventory import Plan, Store, plan
from trueline.inventory._planner import _batches, _choose_grid

WEEK = np.array([600.0, 570.0, 890.0, 480.0, 610.0, 830.0, 1020.0])
WANT = 100.0
MANY = 1 << 26


def forecast(days: int, level: float = 1.0) -> tl.Normal:
    mean = level * np.resize(WEEK, days)
    return tl.Normal(mean, 0.2 * mean)


def minima(jobs: list[Callable[[], object]], rounds: int) -> list[float]:
    best = [np.inf] * len(jobs)
    for _ in range(rounds):
        for i, job in enumerate(jobs):
            started = time.perf_counter()
            job()
            best[i] = min(best[i], time.perf_counter() - started)
    return best


def table_sizes(store: Store, dist: tl.Normal, horizon: int, **grid: int) -> list[int]:
    """Entries of the table of each day, with an axis for the order on an order day."""
    orders = store.orders_on(np.arange(horizon) % 7)
    orders[-1] = False
    closed = np.zeros(horizon, dtype=bool)
    stock = store.check_stock(None)
    batches = _batches(store, dist, closed, stock, orders)
    shelf = _choose_grid(store, batches, horizon, grid.get("step"), grid["max_cells"])
    return [
        prod(shelf.sizes(t)) * (shelf.sizes(t + 1)[-1] if orders[t] else 1)
        for t in range(1, horizon)
    ]


def measure(
    name: str, store: Store, level: float = 1.0, horizon: int = 14, *, rounds: int, **grid: int
) -> tuple[Plan, float]:
    """Print the time of a plan from an empty shelf on a Monday; return it and the ratio."""
    dist = forecast(horizon, level)
    grid.setdefault("max_cells", 1 << 18)
    tables = [np.zeros(n) for n in table_sizes(store, dist, horizon, **grid)]

    def planned() -> Plan:
        return plan(store, dist, weekday=0, horizon=horizon, **grid)

    def touched() -> None:
        for table in tables:
            np.add(table, 1.0, out=table)

    ours, floor = minima([planned, touched], rounds)
    found = planned()
    print(
        f"  {name:<22}{found.step:>5}{found.cells:>12,}{1e3 * ours:>9.1f}{1e3 * floor:>9.2f}"
        f"{ours / floor:>8.1f}{found.packs:>8}{found.value:>12,.2f}"
    )
    return found, ours / floor


def heading(text: str) -> None:
    print(text)
    print(
        f"  {'':<22}{'step':>5}{'cells':>12}{'ms':>9}{'floor':>9}{'ratio':>8}{'packs':>8}"
        f"{'value':>12}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    rounds = 3 if quick else 7
    plan(Store(), forecast(14), weekday=0)  # what scipy loads at the first plan is not planning

    heading("The real scale, by the step of the grid (units)")
    default, ratio = measure("chosen", Store(), rounds=rounds)
    finest = default
    for step in (48, 36) if quick else (48, 36, 24):
        finest, _ = measure(f"step {step}", Store(), step=step, max_cells=MANY, rounds=rounds)

    heading("Shelf life, the step chosen: the table stays within its bound")
    for life in (3, 5, 7) if quick else (2, 3, 4, 5, 6, 7):
        measure(f"{life} days", Store(shelf_life=life), rounds=rounds)
    heading("Shelf life, a step of 120: one batch more on the shelf every two days or so")
    for life in (3, 5) if quick else (2, 3, 4, 5, 6, 7):
        measure(
            f"{life} days", Store(shelf_life=life), step=120, max_cells=MANY, rounds=min(rounds, 3)
        )

    heading("Stock range, the step chosen: it grows with the demand, the table does not")
    for level in (0.1, 1.0, 4.0) if quick else (0.1, 0.5, 1.0, 2.0, 4.0):
        measure(f"{700 * level:g} units a day", Store(max_packs=2000), level, rounds=rounds)
    heading("Stock range, a step of 60: the table grows with its cube")
    for level in (0.5, 1.0) if quick else (0.25, 0.5, 1.0, 2.0):
        measure(
            f"{700 * level:g} units a day", Store(max_packs=2000), level, step=60, max_cells=MANY,
            rounds=min(rounds, 3),
        )  # fmt: skip

    heading("Horizon, the step chosen")
    for horizon in (7, 14) if quick else (7, 14, 21, 28):
        measure(f"{horizon} days", Store(), horizon=horizon, rounds=rounds)

    off = abs(default.value / finest.value - 1.0)
    apart = abs(default.packs - finest.packs)
    holds = ratio <= WANT and off < 2e-3 and apart <= 1
    print(
        f"at the real scale {ratio:.1f} floors, want {WANT:g}; value {off:.2%} and order {apart} "
        f"packs from those of a step of {finest.step}: {'holds' if holds else 'DOES NOT HOLD'}"
    )
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
