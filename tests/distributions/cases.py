"""One small batch of every kind of forecast, for tests that hold for all of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

import trueline as tl
from trueline.distributions import Stacked

LOC = np.array([0.0, -3.0, 40.0])
SCALE = np.array([1.0, 0.2, 5.0])
_DRAWS = np.random.default_rng(0).standard_t(4, size=(3, 21))
_TIED = np.round(_DRAWS)
_LEVELS = np.array([0.05, 0.2, 0.5, 0.7, 0.95])


def _quantiles(values: np.ndarray) -> tl.Distribution:
    steps = np.quantile(values, _LEVELS, axis=1, method="inverted_cdf").T
    return tl.Quantiles(_LEVELS, LOC[:, None] + SCALE[:, None] * steps)


def _stacked() -> tl.Distribution:
    parts = [tl.Normal(LOC[:2], SCALE[:2]), tl.Laplace(LOC[2:], SCALE[2:])]
    return Stacked(parts, [np.array([2, 0]), np.array([1])])


def _stacked_scores() -> tl.Distribution:
    parts = [tl.Samples(LOC[:2, None] + SCALE[:2, None] * _DRAWS[:2]), BASES["mixture"]()[2]]
    return Stacked(parts, [np.array([0, 2]), np.array([1])])


# One line here adds a new class to every contract test.
BASES: dict[str, Callable[[], tl.Distribution]] = {
    "normal": lambda: tl.Normal(LOC, SCALE),
    "student t": lambda: tl.StudentT(LOC, SCALE, 5.0),
    "student t, df by row": lambda: tl.StudentT(LOC, SCALE, [3.0, 8.0, 1e6]),
    "student t, heavy": lambda: tl.StudentT(LOC, SCALE, [1.0, 1.2, 1.5]),
    "laplace": lambda: tl.Laplace(LOC, SCALE),
    "logistic": lambda: tl.Logistic(LOC, SCALE),
    "point": lambda: tl.Point(LOC),
    "samples": lambda: tl.Samples(LOC[:, None] + SCALE[:, None] * _DRAWS),
    "samples, tied": lambda: tl.Samples(_TIED),
    "quantiles": lambda: _quantiles(_DRAWS),
    "quantiles, tied": lambda: _quantiles(_TIED),
    "mixture": lambda: tl.Mixture([tl.Normal(LOC, SCALE), tl.Normal(LOC + 2.0, 0.5 * SCALE)]),
    "mixture, weights by row": lambda: tl.Mixture(
        [tl.Normal(LOC, SCALE), tl.Logistic(LOC + SCALE, 0.5 * SCALE)],
        weights=[[1.0, 3.0], [2.0, 1.0], [1.0, 0.0]],
    ),
    "mixture of steps": lambda: tl.Mixture([BASES["samples"](), BASES["normal"]()]),
    "stacked": _stacked,
    "stacked, normal scores": _stacked_scores,
}


def outcomes(dist: tl.Distribution, seed: int) -> np.ndarray:
    """Outcomes that are off centre and wider than their forecasts."""
    lower, upper = dist.ppf([0.1, 0.9]).T
    width = np.where(upper > lower, upper - lower, 1.0)
    noise = np.random.default_rng(seed).standard_t(6, size=len(dist))
    return dist.median() + width * (0.2 + 0.8 * noise)


def _fitted(
    recalibrator: tl.Recalibrator, *, ties: bool = False, weighted: bool = False
) -> Callable[[tl.Distribution], tl.Distribution]:
    def recalibrate(dist: tl.Distribution) -> tl.Distribution:
        # If all rows have the same forecast, equal outcomes have equal scores.
        rows = np.zeros(40, dtype=int) if ties else np.arange(40) % len(dist)
        held_out = dist[rows]
        y = outcomes(held_out, seed=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tl.CalibrationWarning)
            recalibrator.fit(np.round(y) if ties else y, held_out)
            if weighted:
                return recalibrator.transform(dist, sample_weight=[0.0, 3.0, 20.0])
            return recalibrator.transform(dist)

    return recalibrate


FORMS: dict[str, Callable[[tl.Distribution], tl.Distribution]] = {
    "as it is": lambda dist: dist,
    "isotonic": _fitted(tl.Isotonic()),
    "isotonic with atoms": _fitted(tl.Isotonic(), ties=True),
    "isotonic, new rows weighed": _fitted(tl.Isotonic(), weighted=True),
    "isotonic with atoms, new rows weighed": _fitted(tl.Isotonic(), ties=True, weighted=True),
    "isotonic, Eq. 6": _fitted(tl.Isotonic(finite_sample=False)),
    "smooth": _fitted(tl.Smooth()),
    "beta": _fitted(tl.BetaCalibration()),
    "scaling": _fitted(tl.Scaling()),
}
