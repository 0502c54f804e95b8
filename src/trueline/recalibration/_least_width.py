"""A least width, which keeps forecasts that are far too narrow from spoiling a map.

A map has one law of the score for all rows. A forecast whose scale is a millionth of what it
should be has a score of a million, and the law then widens and shifts the forecasts of all other
rows. Adding a small width e to every row, ``dist._widened(e)``, makes such a score ordinary.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from trueline._validation import FloatArray
from trueline.distributions import Distribution, Quantiles
from trueline.laws import ScoreLaw
from trueline.scores import MOST_SCORE, ScoreRows, Scores

LawOf = Callable[[Scores], ScoreLaw]

#: Least widths to choose from, as shares of the typical absolute error; the last makes forecasts
#: nearly as wide as the errors in all rows.
SHARES = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
_FOLDS = 5
# Number of rows that the choice is made on, and of suspicious rows that it includes in any case.
_MOST_ROWS = 10_000
_MOST_SUSPECTS = 1_000
# A row is narrow below this share of the typical width, and its score is outlying above this
# multiple of the typical score.
_NARROW = 0.05
_OUTLYING = 30.0
# A set has no outlying score if the largest is below this multiple of the lower quartile. For
# normal scores this is a little less than the bound above.
_QUARTILE, _SPREAD = 0.25, 60.0
# Levels of the quantiles that stand for forecasts without a closed form of the CRPS.
_LEVELS = ndtr(np.linspace(-4.0, 4.0, 17))
# Levels at minus one, zero and plus one standard deviation of a normal.
_CENTRAL = ndtr(np.array([[-1.0, 0.0, 1.0]]))
# Share of the rows, those with the largest values, that a typical value leaves out.
_TRIMMED = 0.01
# A CRPS beyond this, in units of the typical error, overflows in its standard error.
_LARGEST_LOSS = 1e50


def least_width(y: FloatArray, dist: Distribution, w: FloatArray | None, law_of: LawOf) -> float:
    """Return the width to add to forecasts before recalibration; 0 unless some are far too narrow.

    Only a set that `screen` finds suspicious pays for a choice. All others keep their forecasts
    to the last bit.

    Parameters
    ----------
    y : (n,) array
        Outcomes.
    dist : Distribution of n rows
    w : (n,) array or None
        Weights; rows of weight 0 are left out.
    law_of : callable
        The map, as a function from sorted scores to the law of the score.

    Returns
    -------
    float
        The width e for ``dist._widened(e)``, in the unit of y.

    Examples
    --------
    One of a thousand forecasts is a million times too narrow:

    >>> import numpy as np
    >>> import trueline as tl
    >>> from trueline.recalibration._least_width import least_width
    >>> y = np.random.default_rng(0).normal(size=1000)
    >>> scale = np.ones(1000)
    >>> least_width(y, tl.Normal(np.zeros(1000), scale), None, tl.Isotonic()._law_of)
    0.0
    >>> scale[0] = 1e-6
    >>> F = tl.Normal(np.zeros(1000), scale)
    >>> e = least_width(y, F, None, tl.Isotonic()._law_of)
    >>> before = tl.Isotonic().fit_scores(F.score(y)).transform(F)
    >>> after = tl.Isotonic().fit_scores(F._widened(e).score(y)).transform(F._widened(e))
    >>> bool(before.std()[1] > 1000.0), bool(0.9 < after.std()[1] < 1.1)
    (True, True)
    """
    y, dist, w = _with_weight(y, dist, w)
    suspects = _suspects(y, dist)
    return _choose(y, dist, w, law_of, suspects) if suspects.any() else 0.0


def choose_width(y: FloatArray, dist: Distribution, w: FloatArray | None, law_of: LawOf) -> float:
    """Return the width with the lowest held-out CRPS, whether or not forecasts look suspicious.

    This is for forecasts that leave out a part of the uncertainty in all rows, such as the
    spread of a forest's trees; otherwise use `least_width`, which has the same parameters. The
    width is one of `SHARES` times the mean absolute error, without the largest errors. The CRPS
    is that of forecasts which the other folds recalibrate. A smaller width is preferred unless
    it is worse by more than one standard error of the paired differences.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> from trueline.recalibration._least_width import choose_width
    >>> rng = np.random.default_rng(0)
    >>> y, spread = rng.normal(size=500), rng.uniform(size=500)
    >>> choose_width(y, tl.Normal(np.zeros(500), spread), None, tl.Isotonic()._law_of) > 0.3
    True
    """
    y, dist, w = _with_weight(y, dist, w)
    return _choose(y, dist, w, law_of, np.zeros(len(y), dtype=bool))


def screen(y: FloatArray, dist: Distribution, w: FloatArray | None = None) -> bool:
    """Whether some forecasts are so narrow, and miss by so much, that a map may suffer.

    The cost is O(n): one pass over the scores of clean rows, and one over the widths if a score
    is outlying. Outliers of y are not suspicious, because their forecasts are not narrow.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> from trueline.recalibration._least_width import screen
    >>> y = np.random.default_rng(0).standard_t(3, size=1000)
    >>> scale = np.ones(1000)
    >>> screen(y, tl.Normal(np.zeros(1000), scale))
    False
    >>> scale[0] = 1e-6
    >>> screen(y, tl.Normal(np.zeros(1000), scale))
    True
    """
    y, dist, _ = _with_weight(y, dist, w)
    return bool(_suspects(y, dist).any())


def has_outlying(scores: FloatArray, *, in_order: bool = False) -> bool:
    """Whether the largest score is far beyond the lower quartile, in absolute value.

    This is the first step of `screen`, for callers that have the scores, (n,), already: where it
    is False, the least width is 0. A NaN makes it False. Scores that are sorted, `in_order`, take
    no time.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.recalibration._least_width import has_outlying
    >>> s = np.random.default_rng(0).normal(size=1000)
    >>> has_outlying(s), has_outlying(np.append(s, -1e6))
    (False, True)
    """
    # Comparing the largest score with a quantile needs no sort: it is enough to count.
    if in_order:
        near = max(scores[-1], -scores[0]) / _SPREAD
        below = scores.searchsorted(near) - scores.searchsorted(-near, side="right")
    else:
        near = max(scores.max(), -scores.min()) / _SPREAD
        below = np.count_nonzero((scores < near) & (scores > -near))
    return bool(below > _QUARTILE * len(scores))


def held_out_crps(
    y: FloatArray,
    dist: Distribution,
    w: FloatArray | None,
    law_of: LawOf,
    fold: NDArray[np.intp],
) -> FloatArray:
    """Return the CRPS of each row, recalibrated by the rows of the other folds.

    It is infinite if a score is too large for the moments of a law.
    """
    rows = ScoreRows.of_outcomes(y, dist, w)
    out = np.full(len(y), np.inf)
    if not np.abs(rows.lower).max() <= MOST_SCORE:
        return out
    for k in range(int(fold.max()) + 1):
        held = np.flatnonzero(fold == k)
        law = law_of(rows.take(fold != k).sort())
        out[held] = dist._take(held)._recalibrate(law)._crps(y[held, None])[:, 0]
    return out


def in_order(
    y: FloatArray, dist: Distribution, w: FloatArray | None, width: FloatArray | None = None
) -> NDArray[np.intp]:
    """Return the rows in the order of outcomes; ties are ordered by score, width and weight.

    The order of rows does not matter then, whatever is done with some of them.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        s = dist._score(y[:, None])[:, 0]
    width = _centre_and_width(dist)[1] if width is None else width
    return np.lexsort((width, s, y) if w is None else (w, width, s, y))


def mean_and_error(
    d: FloatArray, w: FloatArray | None, distinct: NDArray[np.intp] | None = None
) -> tuple[float, float]:
    """Return the weighted mean of paired differences, and its standard error.

    Rows with the same number in `distinct` are copies, and count as one.
    """
    share = np.full(len(d), 1.0 / len(d)) if w is None else w / w.sum()
    mean = float(share @ d)
    off = share * (d - mean)
    if distinct is not None:
        off = np.bincount(distinct, off)
    return mean, float(np.sqrt(off @ off))


def _with_weight(
    y: FloatArray, dist: Distribution, w: FloatArray | None
) -> tuple[FloatArray, Distribution, FloatArray | None]:
    """Return the rows with a weight above 0."""
    if w is None or w.min() > 0:
        return y, dist, w
    rows = np.flatnonzero(w > 0)
    return y[rows], dist._take(rows), w[rows]


def _can_be_widened(dist: Distribution) -> bool:
    first = dist._take(np.zeros(1, dtype=np.intp))
    return first._widened(1.0) is not first


def _suspects(y: FloatArray, dist: Distribution) -> NDArray[np.bool_]:
    """Mark the rows that are narrow and have an outlying score.

    The r-th narrowest row needs a score of sqrt(r) times the bound. Honest scores do not depend
    on the width, so that under a heavy tail P(S > s) of order s^-3 the probability that any of n
    rows exceeds its bound does not grow with n. Bounds for few rows at the narrow end detect a
    collapsed row among any number of others.
    """
    marked = np.zeros(len(y), dtype=bool)
    if not _can_be_widened(dist):
        return marked
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        s = dist._score(y[:, None])[:, 0]
        if not has_outlying(s):
            return marked
        centre, width = _centre_and_width(dist)
        typical_width = _typical(width)
        typical_score = _typical(np.abs(y - centre)) / typical_width
        narrow = np.flatnonzero(width < _NARROW * typical_width)
        size = np.abs(s[narrow])
        # Equal widths are ranked by score, so that the order of rows does not matter.
        order = np.lexsort((-size, width[narrow]))
        bound = _OUTLYING * typical_score * np.sqrt(np.arange(1.0, len(narrow) + 1.0))
        marked[narrow[order[size[order] > bound]]] = True
    return marked


def _centre_and_width(dist: Distribution) -> tuple[FloatArray, FloatArray]:
    """Return the centre and the width of each row; quantiles where moments would be slow."""
    if dist._closed_crps:
        return dist._centre(), dist._width()
    low, middle, high = dist._ppf(_CENTRAL).T
    return middle, 0.5 * (high - low)


def _typical(a: FloatArray) -> np.float64:
    """Return the mean without the largest values, so that a few of those cannot spoil it."""
    kept = max(len(a) - int(np.ceil(_TRIMMED * len(a))), 1)
    mean: np.float64 = np.partition(a, kept - 1)[:kept].mean()
    return mean


def _typical_error(error: FloatArray, w: FloatArray | None) -> float:
    """Return the weighted mean of errors without the largest; of all if that is 0."""
    order = np.argsort(error)
    error, w = error[order], np.ones(len(error)) if w is None else w[order]
    above = np.cumsum(w)
    kept = np.clip((1.0 - _TRIMMED) * above[-1] - (above - w), 0.0, w)
    return float(kept @ error) / float(kept.sum()) or float(np.average(error, weights=w))


def _choose(
    y: FloatArray,
    dist: Distribution,
    w: FloatArray | None,
    law_of: LawOf,
    suspects: NDArray[np.bool_],
) -> float:
    """Return the width with the lowest held-out CRPS, by the one-standard-error rule."""
    if len(y) < _FOLDS or not np.isfinite(y).all() or not _can_be_widened(dist):
        return 0.0
    centre, width = _centre_and_width(dist)
    unit = _typical_error(np.abs(y - centre), w)
    if not 0.0 < unit < np.inf:
        return 0.0
    rows, count = _evenly_spaced(in_order(y, dist, w, width), w, suspects)
    y, dist = y[rows], dist._take(rows)
    if not dist._closed_crps:
        dist = Quantiles(_LEVELS, dist._ppf(_LEVELS[None, :]))
    # Neighbours in the order of y are in different folds, but not copies of a row.
    with np.errstate(over="ignore", invalid="ignore"):
        s = dist._score(y[:, None])[:, 0]
    copied = (y[1:] == y[:-1]) & (s[1:] == s[:-1])
    distinct = np.cumsum(np.concatenate([[0], ~copied]))
    fold = distinct % _FOLDS
    losses = []
    for share in SHARES:
        with np.errstate(all="ignore"):
            loss = held_out_crps(y, dist._widened(share * unit), count, law_of, fold) / unit
        losses.append(np.where(loss < _LARGEST_LOSS, loss, _LARGEST_LOSS))
    return unit * SHARES[first_as_good_as_the_best(losses, count, distinct)]


def _evenly_spaced(
    order: NDArray[np.intp], w: FloatArray | None, suspects: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], FloatArray | None]:
    """Return all rows in this order, or an evenly spaced part if there are many, and weights.

    A part includes all suspicious rows, unless there are many of them. Their weights are such
    that they keep the share that they have of all rows.
    """
    if len(order) <= _MOST_ROWS:
        return order, None if w is None else w[order]
    always = suspects[order]
    if np.count_nonzero(always) > _MOST_SUSPECTS:
        always[:] = False
    step = -(-len(order) // _MOST_ROWS)
    chosen = always.copy()
    chosen[np.flatnonzero(~always)[::step]] = True
    rows = order[chosen]
    count = np.where(always[chosen], 1.0 / step, 1.0)
    return rows, count if w is None else count * w[rows]


def first_as_good_as_the_best(
    losses: list[FloatArray],
    w: FloatArray | None,
    distinct: NDArray[np.intp] | None = None,
) -> int:
    """Return the first candidate that is worse than the best by at most one standard error."""
    best = int(np.argmin([mean_and_error(loss, w)[0] for loss in losses]))
    for i in range(best):
        excess, error = mean_and_error(losses[i] - losses[best], w, distinct)
        if excess <= error:
            return i
    return best
