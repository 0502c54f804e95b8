"""Simulated streams: what intervals and CRPS do when the noise changes, or an adversary plays."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from streams_players import (
    EXPERTS,
    DtACI,
    Fixed,
    Oracle,
    Player,
    Streaming,
    crps,
    interval_scores,
)

import trueline as tl

FIRST, ROWS, WINDOW = 500, 1500, 300
#: The CRPS is computed in every so many rows.
EVERY = 10
JUMP = 300
SEASON = 600
#: The adversary's outcomes stay within this distance of the forecast, in first standard deviations.
BOUND = 10.0
#: Distance of its outcomes from the interval that they miss.
MARGIN = 0.1
ADVERSARY = "adversary"
#: Kinds of which `Online()` plays all streams.
IN_FULL = ("stationary", "jump")


def _times() -> np.ndarray:
    return np.arange(-FIRST, ROWS)


#: Standard deviation of every row, by the kind of stream; row 0 is the first that is forecast.
DEVIATIONS: dict[str, np.ndarray] = {
    "stationary": np.ones(FIRST + ROWS),
    "jump": np.where(_times() < JUMP, 1.0, 3.0),
    "slow drift": 3.0 ** (np.maximum(_times(), 0) / ROWS),
    "season": 2.0 ** np.sin(2.0 * np.pi * _times() / SEASON),
    ADVERSARY: np.ones(FIRST + ROWS),
}

PLAYERS: dict[str, Callable[[np.ndarray], Player]] = {
    "`Online()`": partial(Streaming, tl.Online),
    "`Online(half_life=math.inf)`": partial(Streaming, partial(tl.Online, half_life=math.inf)),
    "`Online(coverage=0.9)`": partial(Streaming, partial(tl.Online, coverage=0.9)),
    "fixed map": Fixed,
    "ACI, rate 0.005": partial(DtACI, [0.005]),
    "ACI, rate 0.01": partial(DtACI, [0.01]),
    "ACI, rate 0.04": partial(DtACI, [0.04]),
    "DtACI": partial(DtACI, EXPERTS),
    "oracle": Oracle,
}


@dataclass(frozen=True, eq=False)
class Game:
    """One method on all streams of a kind.

    `coverage` is that of the 90% intervals by window, and `error` its largest standard error over
    streams. `width` is the mean width of the 90% intervals over all rows, `crps` the mean CRPS over
    every tenth row, and `excess` that relative to the oracle on the same rows.
    """

    kind: str
    player: str
    streams: int
    coverage: np.ndarray
    error: float
    width: float
    crps: float
    excess: float


def adversarial(player: Player, ends: np.ndarray) -> np.ndarray:
    """Return outcomes just outside the nearer end of the 90% intervals, or 0 where none fits."""
    above, below = ends[:, 1] + MARGIN, ends[:, 0] - MARGIN
    nearer = np.where(np.abs(above) <= np.abs(below), above, below)
    return np.where((np.abs(nearer) <= BOUND) & ~np.asarray(player.infinite), nearer, 0.0)


def play(kind: str, name: str, streams: int, seed: int) -> Game:
    """Play all rows of some streams."""
    deviations = DEVIATIONS[kind]
    noise = np.random.default_rng(seed).normal(size=(FIRST + ROWS, streams)).T
    s = deviations * noise
    player, oracle = PLAYERS[name](s[:, :FIRST]), Oracle(s)
    held = np.empty((ROWS, streams), dtype=bool)
    width, mine, known = 0.0, 0.0, 0.0
    for t in range(ROWS):
        scale = np.full(streams, deviations[FIRST + t])
        ends = player.ninety(scale)
        outcome = adversarial(player, ends) if kind == ADVERSARY else s[:, FIRST + t]
        held[t] = (ends[:, 0] <= outcome) & (outcome <= ends[:, 1]) | player.infinite
        width += float((ends[:, 1] - ends[:, 0]).mean()) / ROWS
        if t % EVERY == 0:
            mine += float(crps(interval_scores(player.ends(scale), outcome)).mean())
            known += float(crps(interval_scores(oracle.ends(scale), outcome)).mean())
        player.learn(outcome)
    windows = held.reshape(ROWS // WINDOW, WINDOW, streams).mean(axis=1)
    error = float(windows.std(axis=1, ddof=1).max()) / math.sqrt(streams)
    mean = mine * EVERY / ROWS
    return Game(kind, name, streams, windows.mean(axis=1), error, width, mean, mine / known - 1.0)


def games(kinds: Sequence[str], streams: int, seed: int) -> list[Game]:
    """Play every method on some kinds of streams; the oracle does not meet the adversary.

    For speed, `Online` plays a tenth of the streams, but all of them as it comes on stationary
    streams and after a jump.
    """
    out = []
    for kind in kinds:
        for name in PLAYERS:
            if kind == ADVERSARY and name == "oracle":
                continue
            all_of_them = "Online" not in name or (name == "`Online()`" and kind in IN_FULL)
            count = streams if all_of_them else max(streams // 10, 2)
            started = time.process_time()
            out.append(play(kind, name, count, seed))
            seconds = time.process_time() - started
            coverage = " ".join(f"{c:.3f}" for c in out[-1].coverage)
            print(f"{kind}, {name}: {coverage}, {seconds:.1f} s", flush=True)
    return out
