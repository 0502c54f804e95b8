"""Checks of what every distribution must do."""

from __future__ import annotations

import warnings
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._validation import CalibrationWarning, FloatArray
from trueline.distributions import Distribution
from trueline.testing._integrals import (
    LEVELS,
    MOST_PANELS,
    RowIntegrals,
    lobatto,
    of_any_shape,
)
from trueline.testing._require import (
    require,
    require_all,
    require_equal,
    require_inverse,
    require_nested,
    require_rising,
    require_same,
)

# Methods with values as argument, and methods without arguments.
_AT_VALUES = ("cdf", "sf", "logcdf", "logsf", "pdf", "logpdf", "crps", "score", "unscore")
_SUMMARIES = ("mean", "var", "std", "median")

_LIMITS = {
    "cdf": (0.0, 1.0),
    "sf": (1.0, 0.0),
    "logcdf": (-np.inf, 0.0),
    "logsf": (0.0, -np.inf),
    "pdf": (0.0, 0.0),
    "logpdf": (-np.inf, -np.inf),
    "crps": (np.inf, np.inf),
    "score": (-np.inf, np.inf),
    "unscore": (-np.inf, np.inf),
}


def check_distribution(dist: Distribution, *, tolerance: float = 1e-6) -> None:
    """Check that a distribution does what `trueline.Distribution` promises.

    Use it in tests of your own classes. The checks are:

    - every form of y and q gives the documented shape, in float64;
    - selecting rows selects the rows of every result: no row depends on other rows;
    - no result is NaN for a finite y, quantiles are finite at every level, and functions have
      their limits at infinity;
    - quantiles rise in the level, the CDF rises within [0, 1], and ppf(q) is the smallest y
      with cdf(y) >= q; without atoms cdf(ppf(q)) = q;
    - cdf, sf and their logarithms agree, also in the tails;
    - pdf = exp(logpdf), and without atoms it integrates to the CDF;
    - intervals nest, hold the median and end at their quantiles;
    - mean, standard deviation and CRPS agree with quadrature of the CDF; infinite moments are
      not checked;
    - the score rises, is finite for every finite y, and `unscore` inverts it;
    - draws follow the CDF and repeat with a ``random_state``;
    - arguments are not changed, results are new arrays, float32 is upcast.

    Parameters
    ----------
    dist : Distribution
        Forecasts to check. Two or three rows are enough; the cost grows with their number.
    tolerance : float, default 1e-6
        Largest error of mean, standard deviation and CRPS, relative to the spread of the row. The
        quadrature of the base class keeps the default; closed forms keep 1e-8.

    Raises
    ------
    AssertionError
        At the first check that fails, with the numbers found.

    Notes
    -----
    A subclass must define ``__len__``, ``_take``, ``_cdf``, ``_ppf`` and ``_logpdf``. To pass all
    checks it nearly always needs three more. ``_sf`` is 1 - cdf by default, which has no digits
    left in the upper tail. ``_logcdf`` and ``_logsf`` define the score, which is infinite if they
    are, and no map can be fitted on infinite scores. If they must be infinite, for instance
    outside a bounded support, define ``_score`` and ``_unscore``: any increasing function with the
    same meaning in all rows.

    Examples
    --------
    A class of your own, and one whose quantiles are wrong:

    >>> import numpy as np
    >>> from scipy.special import expit, log_expit, logit
    >>> import trueline as tl
    >>> class Sigmoid(tl.Distribution):
    ...     def __init__(self, loc):
    ...         self.loc = np.asarray(loc, dtype=float)
    ...
    ...     def __len__(self):
    ...         return len(self.loc)
    ...
    ...     def _take(self, rows):
    ...         return type(self)(self.loc[rows])
    ...
    ...     def _cdf(self, y):
    ...         return expit(y - self.loc[:, None])
    ...
    ...     def _ppf(self, q):
    ...         return self.loc[:, None] + logit(q)
    ...
    ...     def _sf(self, y):
    ...         return expit(self.loc[:, None] - y)
    ...
    ...     def _logcdf(self, y):
    ...         return log_expit(y - self.loc[:, None])
    ...
    ...     def _logsf(self, y):
    ...         return log_expit(self.loc[:, None] - y)
    ...
    ...     def _logpdf(self, y):
    ...         return self._logcdf(y) + self._logsf(y)
    >>> tl.testing.check_distribution(Sigmoid([0.0, 3.0]))
    >>> class Wrong(Sigmoid):
    ...     def _ppf(self, q):
    ...         return self.loc[:, None] - logit(q)
    >>> tl.testing.check_distribution(Wrong([0.0, 3.0]))
    Traceback (most recent call last):
        ...
    AssertionError: ppf falls as the level rises: ...
    """
    if not isinstance(dist, Distribution):
        raise TypeError(
            f"dist is a {type(dist).__name__}; expected a trueline distribution. "
            f"Convert it with trueline.as_distribution(dist)."
        )
    # The checks use extreme levels on purpose.
    with warnings.catch_warnings(action="ignore", category=CalibrationWarning):
        check_shapes(dist)
        check_rows(dist)
        check_no_nan(dist)
        check_limits(dist)
        check_cdf_and_ppf(dist)
        check_tails_agree(dist)
        check_density(dist)
        check_intervals(dist)
        check_moments_and_crps(dist, tolerance)
        check_score(dist)
        check_sample(dist)
        check_inputs_are_left_alone(dist)


def spread_of(dist: Distribution) -> FloatArray:
    """Return a width of each row, (n, 1); 1 if all mass is at one value."""
    y = dist.ppf([0.1, 0.9])
    width = y[:, 1:] - y[:, :1]
    return np.where(width > 0, width, 1.0)


def hair_of(y: FloatArray) -> FloatArray:
    """Return a few times the rounding error of the largest value in each row, (n, 1)."""
    return 8.0 * np.spacing(np.abs(y).max(axis=1, keepdims=True))


def has_atoms(dist: Distribution) -> NDArray[np.bool_]:
    """Return whether each row has probability at single values, (n,)."""
    if dist._atoms is not None:  # they may be too rare to be found
        return np.ones(len(dist), dtype=np.bool_)
    y = dist.ppf(np.linspace(0.005, 0.995, 199))
    hair = hair_of(y)
    jumps = dist.cdf(y + hair) - dist.cdf(y - hair) > 1e-4
    return np.asarray(jumps.any(axis=1))


# ---- one function per promise ----------------------------------------------------------


def check_shapes(dist: Distribution) -> None:
    """Every form of y and q gives the documented shape."""
    n = len(dist)
    median = dist.median()
    for name in _AT_VALUES:
        method = getattr(dist, name)
        column = median if name != "unscore" else np.linspace(-1.0, 1.0, n)
        forms = (
            ("a scalar", 0.5, (n,)),
            ("(n,) values", column, (n,)),
            ("a list", column.tolist(), (n,)),
            ("(n, 1) values", column[:, None], (n, 1)),
            ("(n, k) values", np.zeros((n, 3)), (n, 3)),
            ("(1, k) values", np.zeros((1, 3)), (n, 3)),
        )
        for what, y, shape in forms:
            require_equal(method(y).shape, shape, f"{name} of {what} has shape")
        scalar = method(0.5)
        require(scalar.dtype == np.float64, f"{name} is {scalar.dtype}; expected float64")
        fault = f"{name} of a scalar is not that of (n, k) values"
        twice = np.stack([scalar, scalar], axis=1)
        require_same(method(np.full((n, 2), 0.5)), twice, fault, rtol=1e-12)
        fault = f"{name} of (n,) values is not that of (n, 1)"
        require_same(method(column), method(column[:, None])[:, 0], fault, rtol=1e-12)
    for name in _SUMMARIES:
        require_equal(getattr(dist, name)().shape, (n,), f"{name} has shape")
    for levels, shape in ((0.3, (n,)), ([0.3], (n, 1)), ([0.3, 0.6, 0.9], (n, 3))):
        require_equal(dist.ppf(levels).shape, shape, f"ppf of {levels} has shape")
    one = "ppf of a scalar is not that of several levels"
    require_same(dist.ppf([0.3, 0.6])[:, 1], dist.ppf(0.6), one, rtol=1e-12, atol=1e-300)
    for coverage, shape in ((0.8, (n,)), ([0.5, 0.8], (n, 2))):
        for end in dist.interval(coverage):
            require_equal(end.shape, shape, f"an end of the interval of {coverage} has shape")
    require(str(n) in repr(dist), f"repr is {dist!r}; expected the number of rows, {n}, in it")


def check_rows(dist: Distribution) -> None:
    """Selecting rows selects the rows of every result."""
    n = len(dist)
    rng = np.random.default_rng(0)
    mask = np.arange(n) % 2 == 0
    selections = (
        rng.permutation(n),
        rng.integers(n, size=2 * n),
        np.array([-1, 0]),
        [0],
        slice(None),
        slice(None, None, -1),
        slice(0, 1),
        mask,
        mask.tolist(),
    )
    y = dist.ppf([0.2, 0.5, 0.7])
    q = np.array([0.05, 0.5, 0.9])
    for rows in selections:
        part, size = dist[rows], len(np.arange(n)[rows])
        require(len(part) == size, f"a selection of {size} rows has {len(part)}")
        require_equal(part.score_kind, dist.score_kind, "score_kind of selected rows is")
        _require_rows(part.cdf(y[rows]), dist.cdf(y)[rows], "cdf")
        _require_rows(part.ppf(q), dist.ppf(q)[rows], "ppf")
    rows = selections[0]
    for name in _AT_VALUES:
        _require_rows(getattr(dist[rows], name)(y[rows]), getattr(dist, name)(y)[rows], name)
    for name in _SUMMARIES:
        _require_rows(getattr(dist[rows], name)(), getattr(dist, name)()[rows], name)
    for i in (0, n - 1, -1, np.int64(0)):
        row = dist[i]
        require(len(row) == 1, f"dist[{i}] has {len(row)} rows; expected 1")
        _require_rows(row.cdf(y[i][None, :]), dist.cdf(y)[i][None, :], "cdf")
    batch: Any = dist  # iteration uses only its length and index
    require_equal(len(list(islice(batch, n + 1))), n, "the number of rows in an iteration is")


def _require_rows(found: FloatArray, expected: FloatArray, name: str) -> None:
    fault = f"{name} of selected rows is not that of the rows in the whole"
    require_same(found, expected, fault, rtol=1e-10, atol=1e-12)


def check_no_nan(dist: Distribution) -> None:
    """No result is NaN for a finite y, in the middle or in the tails."""
    middle, unit = dist.median()[:, None], spread_of(dist)
    far = unit * np.array([[-1e30, -1e6, -1e3, 1e3, 1e6, 1e30]])
    y = np.concatenate([dist.ppf(LEVELS), middle, middle + far], axis=1)
    for name in _AT_VALUES:
        given = y if name != "unscore" else np.linspace(-9.0, 9.0, 37)[None, :]
        require_all(~np.isnan(getattr(dist, name)(given)), f"{name} is NaN", at=given)
    for name in _SUMMARIES:
        found = getattr(dist, name)()
        require_all(~np.isnan(found), f"{name} is NaN", found=found)
    q = np.array([1e-300, 1e-20, 0.5, 1.0 - 1e-16])
    ends = dist.ppf(q)
    require_all(np.isfinite(ends), "a quantile is not finite", level=q, found=ends)


def check_limits(dist: Distribution) -> None:
    """At plus and minus infinity every function has its limit."""
    ends = np.array([[-np.inf, np.inf]])
    for name, limit in _LIMITS.items():
        found = getattr(dist, name)(ends)
        expected = np.tile(limit, (len(dist), 1))
        require_same(found, expected, f"{name} at minus and plus infinity is not its limit")


def check_cdf_and_ppf(dist: Distribution) -> None:
    """Both rise, and ppf(q) is the smallest y with cdf(y) >= q."""
    y = dist.ppf(LEVELS)
    hair = hair_of(y)
    require_rising(y, "ppf falls as the level rises", slack=hair, level=LEVELS)
    between = 0.5 * (y[:, 1:] + y[:, :-1])
    grid = np.sort(np.concatenate([y, between], axis=1), axis=1)
    p = dist.cdf(grid)
    require_all((p >= 0) & (p <= 1), "cdf leaves [0, 1]", y=grid, found=p)
    require_rising(p, "cdf falls as y rises", slack=1e-15, y=grid)
    require_inverse(dist, LEVELS, y, hair, slack=1e-10)
    require_same(dist.median(), dist.ppf(0.5), "median is not ppf(0.5)")


def check_tails_agree(dist: Distribution) -> None:
    """cdf, sf and their logarithms agree."""
    y = dist.ppf(LEVELS)
    cdf, sf = dist.cdf(y), dist.sf(y)
    require_same(sf, 1.0 - cdf, "sf is not 1 - cdf", atol=1e-14)
    close = {"rtol": 1e-11, "atol": 1e-300}
    require_same(np.exp(dist.logcdf(y)), cdf, "logcdf is not the log of cdf", **close)
    require_same(np.exp(dist.logsf(y)), sf, "logsf is not the log of sf", **close)
    median = dist.median()[:, None]
    far = spread_of(dist) * np.geomspace(1.0, 1e4, 30)[::-1]
    for name, values in (("logsf", median + far), ("logcdf", median - far)):
        require_rising(getattr(dist, name)(values), f"{name} rises outwards", y=values)
    require_same(np.exp(dist.logpdf(y)), dist.pdf(y), "pdf is not exp(logpdf)", rtol=1e-14)


def check_density(dist: Distribution) -> None:
    """Without atoms, the density integrates to differences of the CDF."""
    for i in np.flatnonzero(~has_atoms(dist)):
        row = dist[int(i)]
        edges = np.unique(row.ppf(LEVELS))
        if edges.size < 2:
            continue
        pdf, cdf = of_any_shape(row.pdf), of_any_shape(row.cdf)
        # A panel with a kink is inaccurate, and is halved until its error is negligible. A density
        # that is wrong on an interval stays wrong.
        a, b = edges[:-1], edges[1:]
        for _ in range(45):
            error = np.abs(lobatto(pdf, a, b) - (cdf(b) - cdf(a)))
            middle = 0.5 * (a + b)
            bad = (error > 1e-9) & (middle > a) & (middle < b)
            if not bad.any() or bad.sum() > MOST_PANELS:
                break
            a, b = np.concatenate([a[bad], middle[bad]]), np.concatenate([middle[bad], b[bad]])
        worst = error.sum()
        fault = f"pdf does not integrate to the CDF: they differ by {worst:.1e} in row {i}"
        require(worst < 1e-6, fault)


def check_intervals(dist: Distribution) -> None:
    """Central intervals hold the median, nest, and end at their quantiles.

    A forecast that is cut has atoms that all rows share, and the smallest intervals that hold the
    coverage, which do not nest.
    """
    coverage = np.linspace(0.05, 0.99, 20)
    lower, upper = dist.interval(coverage)
    if dist._atoms is not None:
        check_smallest_intervals(dist, coverage, lower, upper)
        return
    median = dist.median()[:, None]
    hair = hair_of(np.concatenate([lower, upper], axis=1))
    holds = (lower <= median + hair) & (upper >= median - hair)
    ends = {"coverage": coverage, "lower": lower, "upper": upper}
    require_all(holds, "an interval does not hold the median", **ends, median=median)
    require_nested(coverage, lower, upper, slack=hair)
    tail = 0.5 * (1.0 - coverage)
    fault = "an interval does not end at its quantiles"
    require_same(lower, dist.ppf(tail), fault)
    require_same(upper, dist.ppf(1.0 - tail), fault)


def check_smallest_intervals(
    dist: Distribution, coverage: FloatArray, lower: FloatArray, upper: FloatArray
) -> None:
    """Intervals of a cut forecast hold the coverage, and are no longer than central ones."""
    mass = dist.cdf(upper) - dist.cdf(lower) + dist.pmf(lower)
    ends = {"coverage": coverage, "lower": lower, "upper": upper}
    fault = "an interval holds less than its coverage"
    require_all(mass >= coverage - 1e-9, fault, **ends, found=mass)
    tail = 0.5 * (1.0 - coverage)
    central = dist.ppf(1.0 - tail) - dist.ppf(tail)
    short = upper - lower <= central + hair_of(np.concatenate([lower, upper], axis=1))
    require_all(short, "an interval is longer than the central one", **ends, central=central)


def check_moments_and_crps(dist: Distribution, tolerance: float) -> None:
    """Mean, variance and CRPS agree with quadrature of the CDF."""
    mean, var, unit = dist.mean(), dist.var(), spread_of(dist)[:, 0]
    require_same(dist.std() ** 2, var, "var is not the square of std", rtol=1e-12)
    values = np.concatenate(
        [dist.ppf([0.03, 0.6]), dist.median()[:, None] + 20.0 * unit[:, None]], axis=1
    )
    crps = dist.crps(values)
    slack = 1e-14 * (unit[:, None] + np.abs(values))
    require_all(crps >= -slack, "crps is negative", y=values, found=crps)
    for i in range(len(dist)):
        row = RowIntegrals(dist[i])
        close = {"rtol": 1e-14, "atol": tolerance * unit[i]}
        if np.isfinite(mean[i]):
            require_same(mean[i], row.mean(), f"mean of row {i} is not that of its CDF", **close)
        if np.isfinite(var[i]):
            root = np.sqrt(row.var(mean[i]))
            fault = f"std of row {i} is not that of its CDF"
            require_same(np.sqrt(var[i]), root, fault, **close)
        for y, score in zip(values[i], crps[i], strict=True):
            fault = f"crps of row {i} at {y} is not the integral over its CDF"
            require_same(score, row.crps(y), fault, **close)


def check_score(dist: Distribution) -> None:
    """The score rises, is finite in the tails, and unscore inverts it."""
    middle, unit = dist.median()[:, None], spread_of(dist)
    steps = np.concatenate([-np.geomspace(1e6, 1e-3, 40), [0.0], np.geomspace(1e-3, 1e6, 40)])
    y = middle + unit * steps
    s = dist.score(y)
    require_all(np.isfinite(s), "a score is not finite", y=y, found=s)
    require_rising(s, "the score falls as y rises", y=y)
    flat = "the score does not tell a value far out from the middle"
    apart = (s[:, -1] > s[:, 40]) & (s[:, 0] < s[:, 40])
    require_all(apart, flat, lowest=s[:, 0], middle=s[:, 40], highest=s[:, -1])
    back = dist.unscore(s)
    fault = "the score of unscore(s) is not s"
    require_same(dist.score(back), s, fault, rtol=1e-9, atol=1e-9)
    # Between distant components of a mixture the score has few significant digits.
    near = np.abs(back - y) <= 1e-6 * (unit + np.abs(y))
    require_all(near, "unscore(score(y)) is not y", y=y, found=back)
    s = np.linspace(-4.0, 4.0, 33)[None, :]
    require_rising(dist.unscore(s), "unscore falls as the score rises", s=s)


def check_sample(dist: Distribution) -> None:
    """Draws have the right shape, can be repeated, and follow the CDF."""
    n, few, size = len(dist), 50, 4000
    first, draws = dist.sample(few, random_state=0), dist.sample(size, random_state=0)
    for found, k in ((dist.sample(), 1), (first, few), (draws, size)):
        require_equal(found.shape, (n, k), f"{k} draws have shape")
    require_all(np.isfinite(draws), "a draw is not finite", found=draws)
    again = dist.sample(few, random_state=0)
    require_same(again, first, "draws do not repeat with the same random_state")
    again = dist.sample(few, random_state=np.random.default_rng(0))
    require_same(again, first, "draws by a Generator are not those of its seed")
    other = dist.sample(few, random_state=1)
    low, high = dist.ppf([0.1, 0.9]).T
    moves = (other != first).any(axis=1) | (low == high)
    require_all(moves, "draws do not depend on random_state", first_draw=first[:, 0])
    # Kolmogorov-Smirnov, from both sides of every step; Massart's bound at level 1e-6.
    draws = np.sort(draws, axis=1)
    hair = hair_of(draws)
    rank = np.arange(size)
    above = (rank + 1) / size - dist.cdf(draws + hair)
    below = dist.cdf(draws - hair) - rank / size
    worst = max(above.max(), below.max())
    bound = np.sqrt(np.log(2e6) / (2 * size))
    fault = f"draws do not follow the CDF: {worst:.3f} apart; expected less than {bound:.3f}"
    require(worst < bound, fault)


def check_inputs_are_left_alone(dist: Distribution) -> None:
    """Arguments are not changed, results are new arrays, float32 is upcast."""
    y, q = dist.ppf([0.2, 0.6]), np.array([0.1, 0.5])
    for name in (*_AT_VALUES, "ppf", *_SUMMARIES):
        method = getattr(dist, name)
        narrow = [] if name in _SUMMARIES else [(q if name == "ppf" else y).astype(np.float32)]
        given = [a.astype(np.float64) for a in narrow]
        result = method(*given)
        for a, before in zip(given, narrow, strict=True):
            require_same(a, before, f"{name} changes its argument")
        kept = result.copy()
        result[...] = np.nan
        require_same(method(*given), kept, f"{name} returns an array that it still uses")
        require_same(method(*narrow), kept, f"{name} of float32 is not that of float64")
