"""French electricity prices of 2019: 90% intervals around one random forest, by several maps."""

from __future__ import annotations

import gzip
import io
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestRegressor
from streams_players import ALPHAS, EXPERTS, LEVELS, NINETY, DtACI, crps, interval_scores

import trueline as tl

SUMS = {
    "prices.csv.gz": "fa5b486030d25b282be05bcfb771c544b77f8dfe066d845ecc9dc78b86936be7",
    "prices_hour0_2019_aci.csv": "f756747dd21c4f525da358916d6075bc3ed767f9ee236ec3e7ea9643cf3e4ae4",
}
SOURCE = (
    "those of Zaffran et al., 'Adaptive conformal predictions for time series' (ICML 2022), from "
    "the public repository scikit-learn-contrib/MAPIE"
)
FIRST_TEST = np.datetime64("2019-01-01")


@dataclass(frozen=True)
class Forest:
    """How the forest is fitted: every `every` days, on the three years before.

    The number of features per split and the leaves are those of Zaffran et al., and so is the
    number of 1,000 trees at hour 0. `begin` is the day of the first forecast.
    """

    trees: int
    every: int
    begin: str


HOUR_0 = Forest(trees=1000, every=14, begin="2018-01-01")
ALL_HOURS = Forest(trees=50, every=28, begin="2018-07-01")
QUICK = Forest(trees=25, every=84, begin="2018-07-01")


@dataclass(frozen=True, eq=False)
class Stream:
    """Outcomes and forecasts of one hour, one row per day; the rows from `test` on are judged."""

    days: np.ndarray
    y: np.ndarray
    loc: np.ndarray
    scale: np.ndarray

    @property
    def test(self) -> int:
        return int(np.searchsorted(self.days, FIRST_TEST))

    def forecast(self, rows: slice) -> tl.Normal:
        """The mean and the standard deviation of the trees."""
        return tl.Normal(self.loc[rows], self.scale[rows])


@cache
def prices() -> tuple[np.ndarray, np.ndarray]:
    """Return the days, and the columns of the file from the price on: (days, 24, columns)."""
    text = gzip.decompress(_read("prices.csv.gz")).decode()
    table = np.loadtxt(io.StringIO(text), delimiter=",", skiprows=1, usecols=range(1, 59))
    days = np.array([line[:10] for line in text.splitlines()[1:]], dtype="datetime64[D]")
    return days[::24], table.reshape(-1, 24, table.shape[1])


def published() -> tuple[np.ndarray, np.ndarray]:
    """Return the published ends of 90% intervals at hour 0 of every day of 2019."""
    content = _read("prices_hour0_2019_aci.csv")
    lower, upper = np.loadtxt(io.BytesIO(content), delimiter=",", skiprows=1, unpack=True)
    return lower, upper


def _read(name: str) -> bytes:
    return tl.datasets.read_data_file(
        f"streams/{name}", SUMS[name], source=SOURCE, remedy="Clone that repository to get it"
    )


def stream(hour: int, forest: Forest, folder: Path | None) -> Stream:
    """Return forecasts made by rolling refits; `folder` keeps them for the next run."""
    file = folder and folder / f"hour{hour}-{forest.trees}-{forest.every}-{forest.begin}.npy"
    days, table = prices()
    y, X = table[:, hour, 0], table[:, hour, 1:].astype(np.float32)
    begin = int(np.searchsorted(days, np.datetime64(forest.begin)))
    if file and file.exists():
        loc, scale = np.load(file, allow_pickle=False)
    else:
        parts = list(_refits(X, y, begin, forest))
        loc, scale = (np.concatenate(part) for part in zip(*parts, strict=True))
        if file:
            np.save(file, np.stack([loc, scale]))
    return Stream(days[begin:], y[begin:], loc, scale)


def _refits(
    X: np.ndarray, y: np.ndarray, begin: int, forest: Forest
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield means and standard deviations over the trees, block by block."""
    for start in range(begin, len(y), forest.every):
        past, block = slice(max(0, start - 3 * 365), start), slice(start, start + forest.every)
        model = RandomForestRegressor(forest.trees, max_features=6, random_state=1)
        model.fit(X[past], y[past])
        each = np.stack([tree.tree_.predict(X[block]).ravel() for tree in model.estimators_])
        yield each.mean(axis=0), each.std(axis=0)


@dataclass(frozen=True, eq=False)
class Judged:
    """Intervals of one method over the days of 2019, at one hour.

    `crps` is NaN for a method that gives the 90% interval only.
    """

    held: np.ndarray
    width: np.ndarray
    score: np.ndarray
    crps: np.ndarray


def judge(y: np.ndarray, ends: np.ndarray, inside: np.ndarray | None = None) -> Judged:
    """Judge the ends of 15 central intervals per row, in the order of LEVELS."""
    lower, upper = ends[:, NINETY], ends[:, NINETY + len(ALPHAS)]
    scores = interval_scores(ends, y)
    inside = (lower <= y) & (y <= upper) if inside is None else inside
    return Judged(inside, upper - lower, scores[:, NINETY], crps(scores))


def judge_published(data: Stream) -> Judged:
    """Judge the published intervals."""
    y, (lower, upper) = data.y[data.test :], published()
    miss = np.maximum(lower - y, 0.0) + np.maximum(y - upper, 0.0)
    return Judged(miss == 0.0, upper - lower, upper - lower + 20.0 * miss, np.full(len(y), np.nan))


def as_it_is(data: Stream) -> Judged:
    rows = slice(data.test, None)
    return judge(data.y[rows], data.forecast(rows).ppf(LEVELS))


def fixed(data: Stream) -> Judged:
    past, rows = slice(data.test), slice(data.test, None)
    R = tl.Isotonic().fit(data.y[past], data.forecast(past))
    return judge(data.y[rows], R.transform(data.forecast(rows)).ppf(LEVELS))


def online(make: Callable[[], tl.Online], data: Stream) -> Judged:
    """Update after every day; the forecasts before 2019 come first, all at once."""
    past = slice(data.test)
    R = make().update(data.y[past], data.forecast(past))
    ends = []
    for t in range(data.test, len(data.y)):
        forecast = data.forecast(slice(t, t + 1))
        ends.append(R.transform(forecast).ppf(LEVELS)[0])
        R.update(data.y[t], forecast)
    return judge(data.y[data.test :], np.array(ends))


def conformal(rates: np.ndarray | list[float], data: Stream) -> Judged:
    """Adaptive conformal inference around the same forest, with scores in units of its spread."""
    s = (data.y - data.loc) / data.scale
    player = DtACI(rates, s[None, : data.test])
    ends, inside = [], []
    for t in range(data.test, len(s)):
        (row,) = player.ends(np.ones(1))
        inside.append(abs(s[t]) <= row[NINETY + len(ALPHAS)] or bool(player.infinite[0]))
        ends.append(data.loc[t] + data.scale[t] * row)
        player.learn(s[t : t + 1])
    return judge(data.y[data.test :], np.array(ends), np.array(inside))


METHODS: dict[str, Callable[[Stream], Judged]] = {
    "forest as it is": as_it_is,
    "`Online()`": partial(online, tl.Online),
    **{
        f"`Online(half_life={h})`": partial(online, partial(tl.Online, half_life=h))
        for h in (15, 30, 60, 120)
    },
    "`Online(half_life=math.inf)`": partial(online, partial(tl.Online, half_life=math.inf)),
    "`Online(coverage=0.9)`": partial(online, partial(tl.Online, coverage=0.9)),
    "fixed map": fixed,
    "ACI, rate 0.04, on this forest": partial(conformal, [0.04]),
    "DtACI, on this forest": partial(conformal, EXPERTS),
}
PUBLISHED = "ACI, rate 0.04, as published"


def hour_0(forest: Forest, folder: Path | None) -> tuple[Stream, dict[str, Judged]]:
    """Judge every method at hour 0."""
    data = _timed(0, forest, folder)
    judged = {name: method(data) for name, method in METHODS.items()}
    return data, judged | {PUBLISHED: judge_published(data)}


def all_hours(hours: int, forest: Forest, folder: Path | None) -> dict[str, list[Judged]]:
    """Judge every method at the first hours of the day, with one map per hour."""
    streams = [_timed(hour, forest, folder) for hour in range(hours)]
    return {name: [method(data) for data in streams] for name, method in METHODS.items()}


def _timed(hour: int, forest: Forest, folder: Path | None) -> Stream:
    started = time.process_time()
    data = stream(hour, forest, folder)
    seconds = time.process_time() - started
    print(f"forest with {forest.trees} trees, hour {hour}: {seconds:.1f} s", flush=True)
    return data
