"""`Online` in a service: cost of a row, size of the state, threads, false alarms.

    python benchmarks/online.py                 # about two minutes on a quiet machine
    python benchmarks/online.py --quick         # shorter streams, two seconds of threads
    python benchmarks/online.py --threads 60 --alarms 1000    # as long as the project promises

Times are CPU times. A row is one interval and one update, with forecasts made beforehand. Streams
of all lengths take turns, and minima of the rounds are shown, so that a busy machine slows all
alike; the time of a small addition says how busy it is. ``want`` is the bound that the project
holds itself to.
"""

from __future__ import annotations

import argparse
import math
import sys
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import trueline as tl
from trueline.streams._alarm import Alarm

MODES = {
    "never": {"half_life": math.inf},
    "window of 1,000": {"window": 1000},
    "window of 20,000": {"window": 20_000},
    "half-life of 60": {"half_life": 60},
    "half-life of 1,000": {"half_life": 1000},
    "adaptive": {},
    "window of 1,000, coverage": {"window": 1000, "coverage": 0.9},
    "adaptive, coverage": {"coverage": 0.9},
    "Smooth, window of 500": {"recalibrator": tl.Smooth(), "window": 500},
    "Smooth, adaptive": {"recalibrator": tl.Smooth()},
}
ONE = tl.Normal(0.0, 1.0)
BATCH = 1_000_000
ALARM_RATE = 0.01


def forecasts(rows: int) -> tl.Distribution:
    return tl.Normal(np.zeros(rows), 1.0)


def filled(params: dict[str, object], rows: int) -> tuple[tl.Online, float]:
    """A stream with this number of rows, and the seconds per row that large batches took."""
    rng = np.random.default_rng(rows)
    first = min(rows, 1000)
    online = tl.Online(**params).fit(rng.normal(size=first), forecasts(first))
    spent = 0.0
    for start in range(first, rows, BATCH):
        y = rng.normal(size=min(BATCH, rows - start))
        dist = forecasts(len(y))
        started = time.process_time()
        online.update(y, dist)
        spent += time.process_time() - started
    return online, spent / max(rows - first, 1)


def addition() -> float:
    x = np.zeros(10)
    started = time.process_time()
    for _ in range(2000):
        x + 1.0
    return (time.process_time() - started) / 2000


def row_times(online: tl.Online, y: np.ndarray) -> np.ndarray:
    """CPU seconds of each row."""
    out = np.empty(len(y))
    for i, value in enumerate(y.tolist()):
        started = time.process_time()
        online.transform(ONE).interval(0.9)
        online.update(value, ONE)
        out[i] = time.process_time() - started
    return out


def cost(sizes: list[int], rounds: int) -> None:
    names = "".join(f"{rows:>12,}" for rows in sizes)
    print(f"microseconds a row after rows:\n{'':<28}{names}{'ratio':>8}{'want 1.5':>10}", end="")
    print(f"{'slowest ms':>12}{'want 10':>9}{'batch ns':>10}{'state kB':>10}{'ms':>6}")
    rng = np.random.default_rng(0)
    small = math.inf
    for name, params in MODES.items():
        made = {rows: filled(params, rows) for rows in sizes}
        times: dict[int, list[np.ndarray]] = {rows: [] for rows in sizes}
        row_times(made[sizes[0]][0], rng.normal(size=20))  # the first map of a kind imports it
        for _ in range(rounds):
            small = min(small, addition())
            y = rng.normal(size=100)
            for rows in sizes:
                times[rows].append(row_times(made[rows][0], y))
        best = [min(float(part.mean()) for part in times[rows]) for rows in sizes]
        slowest = max(float(part.max()) for rows in sizes for part in times[rows])
        last, batch = made[sizes[-1]]
        started = time.process_time()
        size = len(last.to_bytes())
        spent = time.process_time() - started
        ratio, shown = best[-1] / best[0], "".join(f"{1e6 * seconds:>12.0f}" for seconds in best)
        print(f"{name:<28}{shown}{ratio:>8.2f}{'':>10}{1e3 * slowest:>12.1f}{'':>9}", end="")
        print(f"{1e9 * batch:>10.0f}{size / 1e3:>10.0f}{1e3 * spent:>6.1f}", flush=True)
    print("want at most 100 us for fixed memories and 200 us for adaptive ones; 1000 kB and 5 ms")
    print(f"a small addition takes {1e6 * small:.2f} us here, 0.4 on a quiet machine\n", flush=True)


def threads(seconds: float) -> None:
    """One writer and four readers, then the same rows by one thread."""
    share = seconds / len(MODES)
    print(
        f"one writer and four readers, {seconds:g} seconds in all: rows, reads, errors, same state"
    )
    for name, params in MODES.items():
        start = np.random.default_rng(1).normal(size=600)
        online = tl.Online(**params).fit(start, forecasts(600))
        done, reads, errors, written = threading.Event(), [0] * 4, [], []

        def read(number: int, online=online, done=done, reads=reads, errors=errors) -> None:
            try:
                while not done.is_set():
                    lower, upper = online.transform(ONE).interval(0.9)
                    if not lower[0] < upper[0]:
                        errors.append(f"an interval from {lower} to {upper}")
                    if reads[number] % 20 == number:
                        tl.load(online.to_bytes())
                    reads[number] += 1
            except Exception as error:  # noqa: BLE001  # any error is a fault
                errors.append(repr(error))

        readers = [threading.Thread(target=read, args=(i,)) for i in range(4)]
        for reader in readers:
            reader.start()
        rng, until = np.random.default_rng(2), time.monotonic() + share
        while time.monotonic() < until:
            written.append(float(rng.normal()) * (3.0 if len(written) > 200 else 1.0))
            online.update(written[-1], ONE)
        done.set()
        for reader in readers:
            reader.join()
        single = tl.Online(**params).fit(start, forecasts(600))
        for value in written:
            single.update(value, ONE)
        same = single.to_bytes() == online.to_bytes()
        print(f"{name:<28}{len(written):>8,}{sum(reads):>10,}{len(errors):>6}   {same}", flush=True)
        if errors or not same:
            sys.exit(f"threads: {errors[:3]}")
    print()


def _rings(seed: int) -> bool:
    alarm = Alarm(ALARM_RATE)
    alarm.look(np.random.default_rng(seed).normal(size=10_000), seed << 20)
    return alarm.alarms > 0


def _delay(seed: int) -> tuple[float, float]:
    """Rows from a doubling of the standard deviation to the alarm, and error of its date."""
    rng = np.random.default_rng(seed)
    alarm = Alarm(ALARM_RATE)
    alarm.look(rng.normal(size=5000), seed << 20)
    if alarm.alarms:
        return math.nan, math.nan
    for row, value in enumerate(2.0 * rng.normal(size=1000)):
        alarm.look(np.array([value]), (seed << 20) + 5000 + row)
        if alarm.alarms:
            return row + 1.0, (alarm.change or 0) - (seed << 20) - 5000.0
    return math.inf, math.nan


def alarms(streams: int) -> None:
    with ProcessPoolExecutor() as pool:
        rang = sum(pool.map(_rings, range(streams), chunksize=4))
        delays = np.array(list(pool.map(_delay, range(10**6, 10**6 + max(streams // 5, 20)))))
    print(f"false alarms: {rang} of {streams:,} streams of 10,000 rows, want at most", end=" ")
    print(f"{ALARM_RATE:.0%} ({ALARM_RATE * streams:g})")
    delay, off = delays[np.isfinite(delays[:, 0])].T
    lost = int(np.isinf(delays[:, 0]).sum())
    print(
        f"after a doubling of the standard deviation at row 5,000: median delay "
        f"{np.median(delay):.0f} rows, 95% {np.quantile(delay, 0.95):.0f}, none in 1,000 rows "
        f"{lost}; the change is dated within {np.quantile(np.abs(off), 0.9):.0f} rows in 90%"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--threads", type=float, help="seconds of threads, for all modes together")
    parser.add_argument("--alarms", type=int, help="number of streams without a change")
    args = parser.parse_args()
    warnings.simplefilter("ignore", tl.CalibrationWarning)
    cost([1000, 100_000] if args.quick else [1000, 100_000, 10_000_000], 2 if args.quick else 8)
    threads(args.threads or (2.0 if args.quick else 10.0))
    alarms(args.alarms or (20 if args.quick else 100))


if __name__ == "__main__":
    main()
