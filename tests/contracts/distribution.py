"""What every distribution must do, whatever its class."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

import trueline as tl

# Methods of values, and those of none.
AT_VALUES = ("cdf", "sf", "logcdf", "logsf", "pdf", "logpdf", "crps", "score", "unscore")
SUMMARIES = ("mean", "var", "std", "median")

# Levels that reach far into both tails; the upper one ends where 1 - q runs out of digits.
TAIL = 10.0 ** -np.arange(12.0, 1.0, -1.0)
LEVELS = np.concatenate([TAIL, np.linspace(0.02, 0.98, 49), 1.0 - TAIL[::-1]])

# Gauss-Lobatto: with the ends of a panel among the nodes, a jump beside one is not overlooked.
_P9 = np.polynomial.Legendre.basis(9)
_NODES = np.concatenate([[-1.0], np.sort(_P9.deriv().roots()), [1.0]])
_WEIGHTS = 2.0 / (90.0 * _P9(_NODES) ** 2)

_MOST_PANELS = 20_000


def check_distribution(dist: tl.Distribution, *, tolerance: float = 1e-8) -> None:
    """Check that a distribution does what `trueline.Distribution` promises.

    Shapes, monotone CDF and quantiles that invert each other, tails, densities, intervals,
    selection of rows, moments and CRPS (against quadrature of the CDF, which is all that it
    takes from the class), scores and samples. Nothing here knows a class.

    Parameters
    ----------
    dist : Distribution
        A few rows are enough: cost grows with their number.
    tolerance : float, default 1e-8
        Error of mean, standard deviation and CRPS, relative to the spread of the row.

    Raises
    ------
    AssertionError
        At the first promise that is broken, saying which and by how much.
    """
    with warnings.catch_warnings():
        # Levels far out are asked for on purpose.
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        check_shapes(dist)
        check_no_nan(dist)
        check_limits(dist)
        check_cdf_and_ppf(dist)
        check_tails_agree(dist)
        check_density(dist)
        check_intervals(dist)
        check_rows(dist)
        check_moments_and_crps(dist, tolerance)
        check_score(dist)
        check_sample(dist)
        check_inputs_are_left_alone(dist)


def values_of(dist: tl.Distribution) -> np.ndarray:
    """Values over all of each row's range, (n, k), increasing."""
    return dist.ppf(LEVELS)


def spread_of(dist: tl.Distribution) -> np.ndarray:
    """A width of each row, (n, 1); 1 where all mass sits at one value."""
    y = dist.ppf([0.1, 0.9])
    width = y[:, 1:] - y[:, :1]
    return np.where(width > 0, width, 1.0)


def hair_of(y: np.ndarray) -> np.ndarray:
    """A few roundings of the largest value in each row, (n, 1): how exact a y can be."""
    return 8.0 * np.spacing(np.abs(y).max(axis=1, keepdims=True))


def has_atoms(dist: tl.Distribution) -> np.ndarray:
    """Whether a row puts mass on single values, (n,)."""
    y = dist.ppf(np.linspace(0.005, 0.995, 199))
    hair = hair_of(y)
    return (dist.cdf(y + hair) - dist.cdf(y - hair) > 1e-4).any(axis=1)


# ---- one promise each ------------------------------------------------------------------


def check_shapes(dist: tl.Distribution) -> None:
    """Every form of y and q gives the shape that the documentation says."""
    n = len(dist)
    median = dist.median()
    for name in AT_VALUES:
        method = getattr(dist, name)
        column = median if name != "unscore" else np.linspace(-1.0, 1.0, n)
        assert method(0.5).shape == (n,), f"{name} of a scalar"
        assert method(column).shape == (n,), f"{name} of (n,)"
        assert method(list(column)).shape == (n,), f"{name} of a list"
        assert method(column[:, None]).shape == (n, 1), f"{name} of (n, 1)"
        assert method(np.zeros((n, 3))).shape == (n, 3), f"{name} of (n, k)"
        assert method(np.zeros((1, 3))).shape == (n, 3), f"{name} of (1, k)"
        np.testing.assert_allclose(
            method(np.full((n, 2), 0.5)), np.stack([method(0.5)] * 2, axis=1), rtol=1e-12
        )
        np.testing.assert_allclose(method(column), method(column[:, None])[:, 0], rtol=1e-12)
        assert method(0.5).dtype == np.float64, name
    for name in SUMMARIES:
        assert getattr(dist, name)().shape == (n,), name
    assert dist.ppf(0.3).shape == (n,)
    assert dist.ppf([0.3]).shape == (n, 1)
    assert dist.ppf([0.3, 0.6, 0.9]).shape == (n, 3)
    np.testing.assert_allclose(dist.ppf([0.3, 0.6])[:, 1], dist.ppf(0.6), rtol=1e-12, atol=1e-300)
    for coverage, shape in ((0.8, (n,)), ([0.5, 0.8], (n, 2))):
        lower, upper = dist.interval(coverage)
        assert lower.shape == upper.shape == shape
    assert str(n) in repr(dist)


def check_no_nan(dist: tl.Distribution) -> None:
    """No NaN for any finite y, in the middle or far out."""
    middle, unit = dist.median()[:, None], spread_of(dist)
    far = unit * np.array([[-1e30, -1e6, -1e3, 1e3, 1e6, 1e30]])
    y = np.concatenate([values_of(dist), middle, middle + far], axis=1)
    for name in AT_VALUES:
        given = y if name != "unscore" else np.linspace(-9.0, 9.0, 37)[None, :]
        assert not np.isnan(getattr(dist, name)(given)).any(), f"{name} is NaN"
    for name in SUMMARIES:
        assert not np.isnan(getattr(dist, name)()).any(), f"{name} is NaN"
    assert np.isfinite(dist.ppf([1e-300, 1e-20, 0.5, 1.0 - 1e-16])).all()


def check_limits(dist: tl.Distribution) -> None:
    """At plus and minus infinity every function has its limit."""
    ends = np.array([[-np.inf, np.inf]])
    n = len(dist)
    limits = {
        "cdf": [0.0, 1.0],
        "sf": [1.0, 0.0],
        "logcdf": [-np.inf, 0.0],
        "logsf": [0.0, -np.inf],
        "pdf": [0.0, 0.0],
        "logpdf": [-np.inf, -np.inf],
        "crps": [np.inf, np.inf],
        "score": [-np.inf, np.inf],
        "unscore": [-np.inf, np.inf],
    }
    for name, limit in limits.items():
        found = getattr(dist, name)(ends)
        np.testing.assert_array_equal(found, np.tile(limit, (n, 1)), err_msg=name)


def check_cdf_and_ppf(dist: tl.Distribution) -> None:
    """Both rise, and ppf(q) is the smallest y with cdf(y) >= q."""
    y = values_of(dist)
    hair = hair_of(y)
    assert (np.diff(y, axis=1) >= -hair).all(), "ppf falls"
    between = 0.5 * (y[:, 1:] + y[:, :-1])
    grid = np.sort(np.concatenate([y, between], axis=1), axis=1)
    p = dist.cdf(grid)
    assert ((p >= 0) & (p <= 1)).all(), "cdf leaves [0, 1]"
    assert (np.diff(p, axis=1) >= -1e-15).all(), "cdf falls"

    # y is exact to a rounding, so an atom may be missed by a hair. The CDF is as exact as that.
    assert (dist.cdf(y + hair) >= LEVELS - 1e-10).all(), "cdf(ppf(q)) < q"
    assert (dist.cdf(y - hair) <= LEVELS + 1e-10).all(), "a smaller y has cdf(y) >= q"
    smooth = ~has_atoms(dist)
    slack = 1e-10 + np.abs(dist.cdf(y + hair) - dist.cdf(y - hair))
    error = np.abs(dist.cdf(y) - LEVELS)
    assert (error <= slack)[smooth].all(), "cdf(ppf(q)) is not q"
    np.testing.assert_array_equal(dist.median(), dist.ppf(0.5))


def check_tails_agree(dist: tl.Distribution) -> None:
    """cdf, sf and their logarithms are one function, each with its own precision."""
    y = values_of(dist)
    cdf, sf = dist.cdf(y), dist.sf(y)
    np.testing.assert_allclose(sf, 1.0 - cdf, rtol=0, atol=1e-14)
    np.testing.assert_allclose(np.exp(dist.logcdf(y)), cdf, rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(np.exp(dist.logsf(y)), sf, rtol=1e-11, atol=1e-300)
    far = dist.median()[:, None] + spread_of(dist) * np.geomspace(1.0, 1e4, 30)
    for log_tail in (dist.logsf(far), dist.logcdf(2.0 * dist.median()[:, None] - far)):
        assert (log_tail[:, 1:] <= log_tail[:, :-1]).all(), "a tail rises"
    np.testing.assert_allclose(np.exp(dist.logpdf(y)), dist.pdf(y), rtol=1e-14)
    assert (dist.pdf(y) >= 0).all()


def check_density(dist: tl.Distribution) -> None:
    """Where there are no atoms the density integrates to differences of the CDF."""
    for i in np.flatnonzero(~has_atoms(dist)):
        row = dist[int(i)]
        edges = np.unique(row.ppf(LEVELS))
        if edges.size < 2:
            continue
        cdf = lambda y, row=row: row.cdf(y[None, :])[0]  # noqa: E731
        pdf = lambda y, row=row: row.pdf(y.reshape(1, -1)).reshape(y.shape)  # noqa: E731
        # A kink spoils one panel, which is halved until what it spoils does not count. A density
        # that is wrong on an interval stays wrong.
        a, b = edges[:-1], edges[1:]
        for _ in range(45):
            error = np.abs(_lobatto(pdf, a, b) - (cdf(b) - cdf(a)))
            middle = 0.5 * (a + b)
            bad = (error > 1e-9) & (middle > a) & (middle < b)
            if not bad.any() or bad.sum() > _MOST_PANELS:
                break
            a, b = np.concatenate([a[bad], middle[bad]]), np.concatenate([middle[bad], b[bad]])
        worst = error.sum()
        assert worst < 1e-6, f"density and CDF disagree by {worst:.1e} in row {i}"


def check_intervals(dist: tl.Distribution) -> None:
    """Central intervals hold the median, nest, and end at their quantiles."""
    coverage = np.linspace(0.05, 0.99, 20)
    lower, upper = dist.interval(coverage)
    median = dist.median()[:, None]
    hair = hair_of(np.concatenate([lower, upper], axis=1))
    assert (lower <= median + hair).all()
    assert (upper >= median - hair).all()
    assert (np.diff(lower, axis=1) <= hair).all(), "intervals do not nest"
    assert (np.diff(upper, axis=1) >= -hair).all(), "intervals do not nest"
    np.testing.assert_array_equal(lower, dist.ppf(0.5 * (1.0 - coverage)))
    np.testing.assert_array_equal(upper, dist.ppf(1.0 - 0.5 * (1.0 - coverage)))


def check_rows(dist: tl.Distribution) -> None:
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
        list(mask),
    )
    y = dist.ppf([0.2, 0.5, 0.7])
    q = np.array([0.05, 0.5, 0.9])
    for rows in selections:
        part = dist[rows]
        assert len(part) == len(np.arange(n)[rows])
        assert part.score_kind == dist.score_kind
        _same(part.cdf(y[rows]), dist.cdf(y)[rows], "cdf")
        _same(part.ppf(q), dist.ppf(q)[rows], "ppf")
    rows = selections[0]
    for name in AT_VALUES:
        _same(getattr(dist[rows], name)(y[rows]), getattr(dist, name)(y)[rows], name)
    for name in SUMMARIES:
        _same(getattr(dist[rows], name)(), getattr(dist, name)()[rows], name)
    for i in (0, n - 1, -1, np.int64(0)):
        assert len(dist[i]) == 1
        _same(dist[i].cdf(y[[i]]), dist.cdf(y)[[i]], "cdf")
    assert len(list(dist)) == n, "iterating gives the rows"


def check_moments_and_crps(dist: tl.Distribution, tolerance: float) -> None:
    """Mean, variance and CRPS are those of the CDF, by quadrature of nothing else."""
    mean, var, unit = dist.mean(), dist.var(), spread_of(dist)[:, 0]
    np.testing.assert_allclose(dist.std() ** 2, var, rtol=1e-12)
    values = np.concatenate(
        [dist.ppf([0.03, 0.6]), dist.median()[:, None] + 20.0 * unit[:, None]], axis=1
    )
    crps = dist.crps(values)
    assert (crps >= -1e-14 * (unit[:, None] + np.abs(values))).all(), "negative CRPS"
    for i in range(len(dist)):
        row = _Row(dist[i])
        close = {"rtol": 1e-14, "atol": tolerance * unit[i]}
        if np.isfinite(mean[i]):
            np.testing.assert_allclose(mean[i], row.mean(), err_msg=f"mean of row {i}", **close)
        if np.isfinite(var[i]):
            root = np.sqrt(row.var(mean[i]))
            np.testing.assert_allclose(np.sqrt(var[i]), root, err_msg=f"std of row {i}", **close)
        for y, score in zip(values[i], crps[i], strict=True):
            what = f"CRPS of row {i} at {y}"
            np.testing.assert_allclose(score, row.crps(y), err_msg=what, **close)
        if np.isfinite(mean[i]):
            energy = row.mean_distance(values[i, 1]) - row.dispersion()
            what = f"CRPS of row {i} as a difference of mean distances"
            np.testing.assert_allclose(crps[i, 1], energy, err_msg=what, **close)


def check_score(dist: tl.Distribution) -> None:
    """The score rises, is finite far out, and is undone by unscore."""
    middle, unit = dist.median()[:, None], spread_of(dist)
    steps = np.concatenate([-np.geomspace(1e6, 1e-3, 40), [0.0], np.geomspace(1e-3, 1e6, 40)])
    y = middle + unit * steps
    s = dist.score(y)
    assert np.isfinite(s).all(), "a score is infinite"
    assert (np.diff(s, axis=1) >= 0).all(), "the score falls"
    assert (s[:, -1] > s[:, 40]).all(), "the score does not tell a value far out from the middle"
    assert (s[:, 0] < s[:, 40]).all(), "the score does not tell a value far out from the middle"
    back = dist.unscore(s)
    np.testing.assert_allclose(dist.score(back), s, rtol=1e-9, atol=1e-9)
    # Between far components of a mixture the score has few digits to tell values apart.
    assert (np.abs(back - y) <= 1e-6 * (unit + np.abs(y))).all(), "unscore is not the inverse"
    s = np.linspace(-4.0, 4.0, 33)[None, :]
    assert (np.diff(dist.unscore(s), axis=1) >= 0).all(), "unscore falls"


def check_sample(dist: tl.Distribution) -> None:
    """Draws have the right shape, can be repeated, and follow the CDF."""
    n, size = len(dist), 4000
    assert dist.sample().shape == (n, 1)
    assert dist.sample(3, random_state=np.random.default_rng(1)).shape == (n, 3)
    draws = dist.sample(size, random_state=0)
    assert draws.shape == (n, size)
    assert np.isfinite(draws).all()
    np.testing.assert_array_equal(draws, dist.sample(size, random_state=0))
    again = dist.sample(size, random_state=np.random.default_rng(0))
    np.testing.assert_array_equal(draws, again)
    # Kolmogorov-Smirnov, from both sides of every step; Massart's bound at level 1e-6.
    draws = np.sort(draws, axis=1)
    hair = hair_of(draws)
    rank = np.arange(size)
    above = (rank + 1) / size - dist.cdf(draws + hair)
    below = dist.cdf(draws - hair) - rank / size
    worst = max(above.max(), below.max())
    bound = np.sqrt(np.log(2e6) / (2 * size))
    assert worst < bound, f"draws are {worst:.3f} from the CDF; expected less than {bound:.3f}"


def check_inputs_are_left_alone(dist: tl.Distribution) -> None:
    """Arguments keep their values, results are the caller's own, float32 is upcast."""
    y, q = dist.ppf([0.2, 0.6]), np.array([0.1, 0.5])
    for name in AT_VALUES:
        method = getattr(dist, name)
        narrow = y.astype(np.float32)
        given = narrow.astype(np.float64)
        before = given.copy()
        result = method(given)
        np.testing.assert_array_equal(given, before, err_msg=f"{name} changed y")
        kept = result.copy()
        result[...] = np.nan
        np.testing.assert_array_equal(method(narrow), kept, err_msg=f"{name} of float32")
    before = q.copy()
    result = dist.ppf(q)
    np.testing.assert_array_equal(q, before)
    kept = result.copy()
    result[...] = np.nan
    np.testing.assert_array_equal(dist.ppf(q), kept)
    narrow = q.astype(np.float32)
    np.testing.assert_array_equal(dist.ppf(narrow), dist.ppf(narrow.astype(np.float64)))
    for name in SUMMARIES:
        result = getattr(dist, name)()
        kept = result.copy()
        result[...] = np.nan
        np.testing.assert_array_equal(getattr(dist, name)(), kept, err_msg=f"{name} is not a copy")


# ---- quadrature that knows the CDF only ------------------------------------------------


def _same(a: np.ndarray, b: np.ndarray, name: str) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12, err_msg=name)


def _lobatto(f: Callable[[np.ndarray], np.ndarray], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Gauss-Lobatto on each panel."""
    half = 0.5 * (b - a)
    return (f((a + half)[:, None] + half[:, None] * _NODES) @ _WEIGHTS) * half


def integrate(f: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> float:
    """Integral of f, halving every panel that differs from the sum of its halves."""
    if edges.size < 2:
        return 0.0
    if edges.size < 2:
        return 0.0
    a, b = edges[:-1], edges[1:]
    whole = _lobatto(f, a, b)
    scale = np.abs(whole).sum() + 1e-300
    total = 0.0
    for _ in range(60):
        middle = 0.5 * (a + b)
        left, right = _lobatto(f, a, middle), _lobatto(f, middle, b)
        bad = np.abs(left + right - whole) > 1e-13 * scale
        bad &= (middle > a) & (middle < b)
        if bad.sum() > _MOST_PANELS:  # noise, not shape
            bad[:] = False
        total += float((left + right)[~bad].sum())
        if not bad.any():
            break
        a, b = np.concatenate([a[bad], middle[bad]]), np.concatenate([middle[bad], b[bad]])
        whole = np.concatenate([left[bad], right[bad]])
    else:
        total += float(whole.sum())
    return total


class _Row:
    """Integrals of the CDF of one row, from so far below to so far above that nothing is left."""

    def __init__(self, dist: tl.Distribution) -> None:
        self.dist = dist
        inner = np.unique(dist.ppf(LEVELS))
        self.middle = float(dist.median()[0])
        unit = float(inner[-1] - inner[0]) or 1.0
        growth = unit * 2.0 ** np.arange(0.0, 180.0)
        low, high = self.middle - growth, self.middle + growth
        # So heavy that y^2 times the tail has not vanished: the variance still counts it.
        low = low[self.cdf(low) * growth**2 > 1e-18 * unit**2]
        high = high[self.sf(high) * growth**2 > 1e-18 * unit**2]
        reach = np.abs(np.concatenate([low, high, [self.middle + unit]]) - self.middle).max()
        ends = self.middle + 2.0 * reach * np.array([-1.0, 1.0])
        self.edges = np.unique(np.concatenate([inner, low, high, ends]))

    def cdf(self, y: np.ndarray) -> np.ndarray:
        return self.dist.cdf(y.reshape(1, -1)).reshape(y.shape)

    def sf(self, y: np.ndarray) -> np.ndarray:
        return self.dist.sf(y.reshape(1, -1)).reshape(y.shape)

    def _split(
        self,
        y: float,
        below: Callable[[np.ndarray], np.ndarray],
        above: Callable[[np.ndarray], np.ndarray],
    ) -> float:
        """Integral of one function below y plus that of another above."""
        edges = np.unique(np.concatenate([self.edges, [y]]))
        return integrate(below, edges[edges <= y]) + integrate(above, edges[edges >= y])

    def mean(self) -> float:
        return self.middle + self._split(self.middle, lambda y: -self.cdf(y), self.sf)

    def var(self, mean: float) -> float:
        return 2.0 * self._split(
            mean, lambda y: (mean - y) * self.cdf(y), lambda y: (y - mean) * self.sf(y)
        )

    def crps(self, y: float) -> float:
        return self._split(y, lambda x: self.cdf(x) ** 2, lambda x: self.sf(x) ** 2)

    def mean_distance(self, y: float) -> float:
        return self._split(y, self.cdf, self.sf)

    def dispersion(self) -> float:
        return integrate(lambda y: self.cdf(y) * self.sf(y), self.edges)
