"""The choice of a map by the forecasts of rows that it has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from trueline._validation import CalibrationWarning, FloatArray, Rows
from trueline.distributions import Distribution, stack
from trueline.estimators._crossfit import OutOfFold
from trueline.estimators._fitting import Data, Widths, fit_rows, resolve, transform
from trueline.estimators._paired import simplest
from trueline.estimators._splits import LearningSplits, Split
from trueline.features import FeatureReader
from trueline.metrics import calibration_test
from trueline.recalibration import Recalibrator

#: What is shown while the map is chosen.
CHOICE = "choosing the map"
#: Names of the maps that are compared, the simplest first. The first one is kept unless another is
#: better by more than the noise, and if all are rejected.
CANDIDATES = ("isotonic", "scaling", "beta", "smooth", "idr", "conditional")
#: How many models are trained without two folds, see `thinned_splits`: all ten of five folds up to
#: 600 rows, two from 3,000 rows on.
TO_CHOOSE = {"enough": 1200, "farthest": 2}
# The choice is made on at most so many rows, drawn at random.
_MOST_ROWS = 3000
# A candidate is rejected if so calibrated a forecast looked so bad by chance with this probability.
_REJECTED_BELOW = 0.01
# Splits with fewer rows to learn from, or to test on, are left out.
_FEWEST_ROWS = 20


@dataclass(frozen=True)
class Choice:
    """Which map ``method="auto"`` chose, and how the candidates compare.

    Attributes
    ----------
    name : str
        The method that was chosen.
    crps : dict
        CRPS of rows that a map has not seen, by method, in the unit of y.
    rejected : dict
        Methods whose forecasts of these rows `calibration_test` rejects at 1%, and the p-values.
    n_rows : int
        Number of these rows.
    """

    name: str
    crps: dict[str, float]
    rejected: dict[str, float]
    n_rows: int

    def __str__(self) -> str:
        crps = ", ".join(f"{name} {value:.4g}" for name, value in self.crps.items())
        rejected = f"; rejected: {', '.join(self.rejected)}" if self.rejected else ""
        return f"the map is {self.name}; CRPS of {self.n_rows} rows: {crps}{rejected}"


def maps_of(method: str | Recalibrator, X: Any) -> dict[str, Recalibrator]:
    """Return the unfitted maps that a method chooses from, by name; most have just one.

    Maps that depend on x are left out if X is no table that they can read.
    """
    if not (isinstance(method, str) and method == "auto"):
        return {"": resolve(method)}
    maps = {name: resolve(name) for name in CANDIDATES}
    try:
        FeatureReader().fit(X)
    except (TypeError, ValueError):
        return {name: R for name, R in maps.items() if not R.needs_features}
    return maps


class Compared(NamedTuple):
    """Forecasts that maps are compared on, and trials of them.

    `rows` are the rows that the forecasts belong to. They have their own widths in `own` and the
    learned ones in `wide`. In a trial, (train, test), a map is fitted on the forecasts at the
    former positions and judged by those at the latter.
    """

    rows: Rows
    own: Distribution
    wide: Distribution
    trials: Sequence[Split]
    independent: bool

    def drawn(self, n: int, seed: int) -> Compared:
        """Return trials of at most `_MOST_ROWS` of n rows, without those that lack rows."""
        trials = self.trials
        if n > _MOST_ROWS:
            drawn = np.zeros(n, dtype=bool)
            drawn[np.random.default_rng(seed).choice(n, _MOST_ROWS, replace=False)] = True
            chosen = drawn[self.rows]
            trials = [(train[chosen[train]], test[chosen[test]]) for train, test in trials]
        enough = [trial for trial in trials if min(map(len, trial)) >= _FEWEST_ROWS]
        return self._replace(trials=enough)


def compare_on(
    own: OutOfFold,
    wide: OutOfFold,
    learning: LearningSplits,
    fewer: OutOfFold | None,
    widths: Widths,
) -> Compared:
    """Return what maps are compared on.

    `own` and `wide` are the forecasts of the fold models, of which the first one of a row counts.
    They are no fair trial of a map that depends on x: the models that forecast the rows that it is
    fitted on were trained on the outcomes that judge it, so that near these they err to the other
    side. Forecasts `fewer` of models that were trained without two folds are used if there are
    some: a map is fitted on one of the two and judged by the other.
    """
    if fewer is None:
        dists = own.dist._take(own.first), wide.dist._take(own.first)
        return Compared(own.unique_rows, *dists, learning.splits, learning.independent)
    fold = np.empty(len(own.rows), dtype=np.intp)
    for k, positions in enumerate(own.positions):
        fold[own.rows[positions]] = k
    held = [(positions, fold[fewer.rows[positions]]) for positions in fewer.positions]
    trials = []
    for k in np.unique(fold[fewer.rows]):
        both = [(positions, of) for positions, of in held if k in of]
        train = np.concatenate([positions[of != k] for positions, of in both])
        trials.append((train, both[0][0][both[0][1] == k]))
    dists = fewer.dist._widened(widths.added), widths.apply_as(wide.dist, fewer.dist, fewer.rows)
    return Compared(fewer.rows, *dists, trials, learning.independent)


def choose(
    maps: Mapping[str, Recalibrator],
    of_own: Collection[str],
    data: Data,
    compared: Compared,
    seed: int,
) -> Choice:
    """Choose the simplest map that no other one beats by more than the noise.

    Parameters
    ----------
    maps : dict
        The unfitted maps by name, the simplest first.
    of_own : collection of str
        Maps that get forecasts with their own widths.
    data : Data
        The rows that ``fit`` is called with.
    compared : Compared
        The forecasts.
    seed : int
        Seed of the rows that are drawn where there are many.
    """
    first = next(iter(maps))
    rows, own, wide, trials, independent = compared.drawn(len(data.y), seed)
    if not trials:
        return Choice(first, {}, {}, 0)
    at = rows[np.concatenate([test for _, test in trials])]
    y, w = data.y[at], None if data.sample_weight is None else data.sample_weight[at]
    n_fit = len(np.unique(rows[np.concatenate([train for train, _ in trials])]))
    losses: dict[str, FloatArray] = {}
    rejected: dict[str, float] = {}
    for name, recalibrator in maps.items():
        dist = held_out(recalibrator, data, rows, own if name in of_own else wide, trials)
        losses[name] = dist._crps(y[:, None])[:, 0]
        p_value = calibration_test(y, dist, sample_weight=w, n_fit=n_fit).p_value
        if p_value < _REJECTED_BELOW:
            rejected[name] = p_value
    accepted = {name: loss for name, loss in losses.items() if name not in rejected}
    sizes = None if independent else [len(test) for _, test in trials]
    best = simplest(accepted, w, sizes) if accepted else first
    crps = {name: float(np.average(loss, weights=w)) for name, loss in losses.items()}
    return Choice(best, crps, rejected, len(at))


def held_out(
    recalibrator: Recalibrator,
    data: Data,
    rows: Rows,
    dist: Distribution,
    trials: Sequence[Split],
) -> Distribution:
    """Return the forecasts of the test rows, recalibrated by the training rows of their trial."""
    parts = []
    for train, test in trials:
        with warnings.catch_warnings():
            # The map that is used in the end warns.
            warnings.simplefilter("ignore", CalibrationWarning)
            fitted = fit_rows(clone(recalibrator), data, rows[train], dist._take(train))
        X, _, _, groups = data.take(rows[test])
        parts.append(transform(fitted, dist._take(test), groups, X, None))
    ends = np.cumsum([len(part) for part in parts])
    return stack(parts, np.split(np.arange(ends[-1]), ends[:-1]))
