"""Maps with a density: a spline, three parameters, two parameters."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, log_ndtr, ndtri

from trueline._validation import FloatArray
from trueline.distributions import Support
from trueline.laws import BetaLaw, NormalLaw, ScoreLaw, SplineLaw
from trueline.recalibration._common import CommonMap
from trueline.scores import Scores

# Rows in each outermost group, which carries the tail.
_TAIL_ROWS = 5.0
_MOST_KNOTS = 10_000
# Below this R would stay far from 0 and 1 in the range of the data.
_SMALLEST = 1e-2
# Averages of scores that lie closer than this, relative to the largest, are one; scores with less
# spread, relative to their mean, have no shape to fit.
_RESOLUTION = 1e-11


class Smooth(CommonMap):
    """A differentiable R, for densities and log scores.

    The scores are averaged in groups, evenly spaced on the normal quantile plot, and a
    monotone cubic spline is drawn through the averages; outside them it goes on straight, so
    the tails are normal. Scores that are normal come back as exactly normal. Use it where
    the density matters; `Isotonic` has the finite-sample guarantee.

    Parameters
    ----------
    n_knots : int, optional
        Groups, 2 to 10,000; by default twice the cube root of the number of rows, at most 50.
    support : "auto", "counts", Support or None, default "auto"
        The values that outcomes can take, see `Isotonic`.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=20_000)
    >>> F = tl.Normal(np.zeros(20_000), 3.0)
    >>> G = tl.Smooth().fit(y[:10_000], F[:10_000]).transform(F[10_000:])
    >>> [round(tl.log_score(y[10_000:], f), 2) for f in (F[10_000:], G)]
    [2.07, 1.41]
    """

    def __init__(self, n_knots: int | None = None, support: Support | str | None = "auto") -> None:
        self.n_knots = n_knots
        self.support = support

    def _check_params(self) -> None:
        super()._check_params()
        k = self.n_knots
        if k is None:
            return
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or not 2 <= k <= _MOST_KNOTS:
            raise ValueError(
                f"n_knots is {k!r}; expected None or an integer of 2 to {_MOST_KNOTS}."
            )

    def _law_of(self, scores: Scores) -> ScoreLaw:
        x, w = scores.points()
        # Ranks are counted from both ends, so that no tail rounds to a probability of 1.
        low, high = mid_ranks(w), mid_ranks(w[::-1])[::-1]
        u = np.where(low < high, ndtri(low), -ndtri(high))
        rows = scores.effective_rows
        groups = self.n_knots or int(np.clip(round(2.0 * rows ** (1 / 3)), 3, 50))
        edge = -ndtri(min(0.25, _TAIL_ROWS / rows))
        inner = np.linspace(-edge, edge, groups - 1) if groups > 2 else np.zeros(1)
        group = np.searchsorted(inner, u)
        # Groups without rows are dropped, and groups that rounding cannot separate are joined.
        _, group = np.unique(group, return_inverse=True)
        average = np.bincount(group, w * x) / np.bincount(group, w)
        apart = np.diff(average) > _RESOLUTION * np.abs(average).max()
        group = np.concatenate([[0], np.cumsum(apart)])[group]
        weight = np.bincount(group, w)
        if len(weight) < 2:
            return NormalLaw(*scores.mean_and_std())
        return SplineLaw(np.bincount(group, w * x) / weight, np.bincount(group, w * u) / weight)


class BetaCalibration(CommonMap):
    """Beta calibration, the Platt scaling of regression: three parameters.

    logit R = c + a log Phi(t) - b log Phi(-t), with t the score in units of its own mean and
    standard deviation, fitted to the empirical frequencies (Eq. 6) by logistic regression.
    With a = b = 1 and c = 0 it is `Scaling`; the three parameters add skewness and weight in
    the tails. The map is smooth, has a density and is stable with a few dozen rows.

    Parameters
    ----------
    support : "auto", "counts", Support or None, default "auto"
        The values that outcomes can take, see `Isotonic`.

    Attributes
    ----------
    law_ : BetaLaw
        With the fitted ``a``, ``b`` and ``c``.

    References
    ----------
    Kull, Silva Filho and Flach, "Beta calibration", AISTATS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).gamma(2.0, size=1000)  # skewed
    >>> R = tl.BetaCalibration().fit(y, tl.Point(np.full(1000, 2.0)))
    >>> R.law_.a > R.law_.b
    True
    """

    def __init__(self, support: Support | str | None = "auto") -> None:
        self.support = support

    def _law_of(self, scores: Scores) -> ScoreLaw:
        x, w = scores.points()
        shift, scale = scores.mean_and_std()
        if len(x) < 3 or scale < _RESOLUTION * abs(shift):
            return NormalLaw(shift, scale)
        a, b, c = _fit((x - shift) / scale, mid_ranks(w), w / w.sum())
        return BetaLaw(a, b, c, shift, scale)


class Scaling(CommonMap):
    """Shift and scale of the scores: the score is taken as normal with its own mean and std.

    It has two parameters, fitted by maximum likelihood: the variance scaling of Levi et al.
    (2022), with the bias removed as well. It needs the fewest rows and cannot fix a wrong shape:
    a recalibrated location-scale forecast is normal.

    Parameters
    ----------
    support : "auto", "counts", Support or None, default "auto"
        The values that outcomes can take, see `Isotonic`.

    Examples
    --------
    >>> import trueline as tl
    >>> R = tl.Scaling().fit([1.0, 2.0, 3.0], tl.Normal([0.0, 0.0, 0.0], 1.0))
    >>> G = R.transform(tl.Normal(10.0, 1.0))
    >>> G.mean(), G.std().round(4)
    (array([12.]), array([0.8165]))
    """

    def __init__(self, support: Support | str | None = "auto") -> None:
        self.support = support

    def _law_of(self, scores: Scores) -> ScoreLaw:
        return NormalLaw(*scores.mean_and_std())


def mid_ranks(w: FloatArray) -> FloatArray:
    """Return the share of the weight below each point plus half of its own."""
    upper = np.cumsum(w)
    return (upper - 0.5 * w) / upper[-1]


def _fit(t: FloatArray, p: FloatArray, w: FloatArray) -> tuple[float, float, float]:
    """Logistic regression of the frequencies p on log Phi(t) and -log Phi(-t)."""
    from scipy.optimize import minimize

    features = np.stack([log_ndtr(t), -log_ndtr(-t), np.ones_like(t)])

    def loss(theta: FloatArray) -> tuple[float, FloatArray]:
        logit = theta @ features
        value = -(w * (p * log_expit(logit) + (1.0 - p) * log_expit(-logit))).sum()
        return float(value), features @ (w * (expit(logit) - p))

    best = minimize(
        loss,
        np.array([1.0, 1.0, 0.0]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(_SMALLEST, np.inf), (_SMALLEST, np.inf), (-np.inf, np.inf)],
        options={"ftol": 1e-15, "gtol": 1e-10, "maxiter": 500},
    )
    a, b, c = best.x
    return float(a), float(b), float(c)
