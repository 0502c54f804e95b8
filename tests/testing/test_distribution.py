"""`check_distribution` passes what keeps the contract and catches every way to break it."""

from functools import cache

import numpy as np
import pytest
from scipy.special import expit, log_expit, logit, ndtri

import trueline as tl
from tests.testing.sites import broken_promise, error_of, promises, says
from trueline.distributions._atoms import Ends
from trueline.testing import _distribution, check_distribution


class Good(tl.Distribution):
    """A logistic forecast as a user would write it."""

    def __init__(self, loc, whole=True):
        self.loc = np.asarray(loc, dtype=float)
        self.whole = whole  # a part knows that it is one, so that mutants can misbehave there

    def __len__(self):
        return len(self.loc)

    def _take(self, rows):
        return type(self)(self.loc[rows], whole=False)

    def _z(self, y):
        return y - self.loc[:, None]

    def _cdf(self, y):
        return expit(self._z(y))

    def _sf(self, y):
        return expit(-self._z(y))

    def _logcdf(self, y):
        return log_expit(self._z(y))

    def _logsf(self, y):
        return log_expit(-self._z(y))

    def _logpdf(self, y):
        return log_expit(self._z(y)) + log_expit(-self._z(y))

    def _ppf(self, q):
        return self.loc[:, None] + logit(q)

    def _mean(self):
        return self.loc.copy()

    def _var(self):
        return np.full(len(self), np.pi**2 / 3.0)

    def _crps(self, y):
        z = self._z(y)
        return z - 2.0 * log_expit(z) - 1.0


def of_dimensions(ndim, name, change):
    """A public method that is wrong for values of one number of dimensions."""

    def method(self, x):
        out = getattr(super(Good, self), name)(x)
        return change(out) if np.ndim(x) == ndim else out

    return method


def in_parts(name, change):
    """An underscored method that is wrong once rows were selected."""

    def method(self, *args):
        out = getattr(Good, name)(self, *args)
        return out if self.whole else change(out)

    return method


def wider(self, size, rng):
    return self.loc[:, None] + 1.2 * logit(rng.random((len(self), size)))


def nests_inside_out(self, coverage=0.9):
    return Good.interval(self, 1.0 - np.asarray(coverage))


def shifted_interval(lower, upper):
    def interval(self, coverage=0.9):
        low, high = Good.interval(self, coverage)
        return low + lower, high + upper

    return interval


#: An end that is so far away that nothing is there; but the forecast counts as cut.
CUT = property(lambda self: Ends(-1e6, np.inf, np.array([-1e6])))


def by_integer(choose):
    def __getitem__(self, rows):  # noqa: N807
        whole = super(Good, self).__getitem__
        return whole(choose(self, rows)) if isinstance(rows, int) else whole(rows)

    return __getitem__


def remembered_cdf(self, y):
    self.memory = getattr(self, "memory", {})
    key = np.asarray(y, dtype=float).tobytes(), np.shape(y)
    return self.memory.setdefault(key, super(Good, self).cdf(y))


def twice_from_a_generator(self, size=1, random_state=None):
    if isinstance(random_state, np.random.Generator):
        random_state.random()
    return Good.sample(self, size, random_state)


def flat(z):
    """A score that says nothing, but keeps its limits."""
    return np.where(np.isinf(z), z, 0.0)


def far_log_tail_that_rises(self, y):
    z = self._z(y)
    return np.where((z > 60.0) & np.isfinite(z), 1e-3 * z - 120.0, log_expit(-z))


MUTANTS = {
    # shapes
    "a column for a scalar": (
        {"crps": lambda self, y: np.atleast_2d(super(Good, self).crps(y))},
        "crps of a scalar has shape (1, 2); expected (2,)",
    ),
    "float32 results": (
        {"sf": lambda self, y: super(Good, self).sf(y).astype(np.float32)},
        "sf is float32; expected float64",
    ),
    "scalars differ": (
        {"pdf": of_dimensions(0, "pdf", lambda p: 2.0 * p)},
        "pdf of a scalar is not that of (n, k) values: found = 0.2",
    ),
    "vectors differ": (
        {"pdf": of_dimensions(1, "pdf", lambda p: 2.0 * p)},
        "pdf of (n,) values is not that of (n, 1)",
    ),
    "one mean for all": (
        {"_mean": lambda self: self.loc.mean(keepdims=True)},
        "mean has shape (1,); expected (2,)",
    ),
    "a column for a level": (
        {"ppf": lambda self, q: super(Good, self).ppf(np.atleast_1d(q))},
        "ppf of 0.3 has shape (2, 1); expected (2,)",
    ),
    "one level differs": (
        {"ppf": of_dimensions(0, "ppf", lambda y: y + 0.1)},
        "ppf of a scalar is not that of several levels",
    ),
    "intervals in columns": (
        {"interval": lambda self, c=0.9: super(Good, self).interval(np.atleast_1d(c))},
        "an end of the interval of 0.8 has shape (2, 1); expected (2,)",
    ),
    "a silent repr": (
        {"__repr__": lambda self: "Good()"},
        "repr is Good(); expected the number of rows, 2, in it",
    ),
    # NaN and limits
    "a density without far tails": (
        {"_logpdf": lambda self, y: np.where(abs(self._z(y)) > 1e5, np.nan, Good._logpdf(self, y))},
        "pdf is NaN: at = ",
    ),
    "an unknown variance": (
        {"_var": lambda self: np.full(len(self), np.nan)},
        "var is NaN: found = nan",
    ),
    "an endless quantile": (
        {"_ppf": lambda self, q: np.where(q < 1e-100, -np.inf, Good._ppf(self, q))},
        "a quantile is not finite: level = 1e-300, found = -inf",
    ),
    "a log that is clipped": (
        {"_logsf": lambda self, y: np.maximum(Good._logsf(self, y), -1e300)},
        "logsf at minus and plus infinity is not its limit: found = -1e+300, expected = -inf",
    ),
    # cdf and ppf
    "quantiles that fall": (
        {"_ppf": lambda self, q: self.loc[:, None] - logit(q)},
        "ppf falls as the level rises: level = ",
    ),
    "probability above 1": (
        {"_cdf": lambda self, y: Good._cdf(self, y) + 0.5 * np.exp(-((self._z(y) - 3.0) ** 2))},
        "cdf leaves [0, 1]: y = ",
    ),
    "a cdf that falls": (
        {
            "_cdf": lambda self, y: (
                Good._cdf(self, y) - 0.2 * np.exp(-(((self._z(y) - 1.0) / 0.2) ** 2))
            )
        },
        "cdf falls as y rises: y = ",
    ),
    "a cdf that lags": (
        {"_cdf": lambda self, y: expit(self._z(y) - 0.1)},
        "cdf(ppf(q)) < q: q = ",
    ),
    "a cdf that leads": (
        {"_cdf": lambda self, y: expit(self._z(y) + 0.1)},
        "ppf(q) is not the smallest y with cdf(y) >= q: q = ",
    ),
    "another median": (
        {"median": lambda self: self.loc + 0.1},
        "median is not ppf(0.5): found = 0.1, expected = 0.0",
    ),
    # tails and density
    "an sf of its own": (
        {"_sf": lambda self, y: Good._sf(self, y) ** 1.001},
        "sf is not 1 - cdf: found = ",
    ),
    "a logcdf of its own": (
        {"_logcdf": lambda self, y: 1.001 * Good._logcdf(self, y)},
        "logcdf is not the log of cdf: found = ",
    ),
    "a logsf of its own": (
        {"_logsf": lambda self, y: 1.001 * Good._logsf(self, y)},
        "logsf is not the log of sf: found = ",
    ),
    "an upper tail without digits": (
        {"_sf": lambda self, y: 1.0 - Good._cdf(self, y)},
        "logsf is not the log of sf: found = ",
    ),
    "a tail that rises": (
        {"_logsf": far_log_tail_that_rises},
        "logsf rises outwards: y = ",
    ),
    "a pdf of its own": (
        {"pdf": lambda self, y: 1.001 * super(Good, self).pdf(y)},
        "pdf is not exp(logpdf): found = ",
    ),
    "a density that does not integrate": (
        {"_logpdf": lambda self, y: Good._logpdf(self, y) + 0.001},
        "pdf does not integrate to the CDF: they differ by 1.0e-03 in row 0",
    ),
    # intervals
    "an interval beside the median": (
        {"interval": shifted_interval(50.0, 50.0)},
        "an interval does not hold the median: coverage = 0.05",
    ),
    "intervals inside out": (
        {"interval": nests_inside_out},
        "intervals do not nest: coverage = ",
    ),
    "a lower end too low": (
        {"interval": shifted_interval(-0.1, 0.0)},
        "an interval does not end at its quantiles: found = ",
    ),
    "an upper end too high": (
        {"interval": shifted_interval(0.0, 0.1)},
        "an interval does not end at its quantiles: found = ",
    ),
    "a cut forecast with short intervals": (
        {"_atoms": CUT, "interval": shifted_interval(0.1, 0.0)},
        "an interval holds less than its coverage: coverage = 0.05",
    ),
    "a cut forecast with long intervals": (
        {"_atoms": CUT, "interval": shifted_interval(0.0, 0.1)},
        "an interval is longer than the central one: coverage = 0.05",
    ),
    # rows
    "rows that come twice": (
        {"_take": lambda self, rows: type(self)(np.repeat(self.loc[rows], 2))},
        "a selection of 2 rows has 4",
    ),
    "a part of another kind": (
        {"score_kind": property(lambda self: "normal score" if self.whole else "residual")},
        "score_kind of selected rows is residual; expected normal score",
    ),
    "rows that depend on each other": (
        {"_z": lambda self, y: y - self.loc[:, None] + (0 if self.whole else self.loc.mean())},
        "cdf of selected rows is not that of the rows in the whole: found = ",
    ),
    "quantiles that depend on other rows": (
        {"_ppf": in_parts("_ppf", lambda y: y + 1e-6)},
        "ppf of selected rows is not that of the rows in the whole",
    ),
    "scores that depend on other rows": (
        {"_crps": in_parts("_crps", lambda y: y + 1e-6)},
        "crps of selected rows is not that of the rows in the whole",
    ),
    "means that depend on other rows": (
        {"_mean": in_parts("_mean", lambda y: y + 1e-6)},
        "mean of selected rows is not that of the rows in the whole",
    ),
    "two rows for one": (
        {"__getitem__": by_integer(lambda self, i: [i, i])},
        "dist[0] has 2 rows; expected 1",
    ),
    "rows counted from the end": (
        {"__getitem__": by_integer(lambda self, i: -1 - i)},
        "cdf of selected rows is not that of the rows in the whole",
    ),
    "rows that never end": (
        {"__iter__": lambda self: iter(lambda: self, None)},
        "the number of rows in an iteration is 3; expected 2",
    ),
    # moments and CRPS
    "a std that is not the root": (
        {"std": lambda self: self.var()},
        "var is not the square of std: found = ",
    ),
    "a CRPS to be maximised": (
        {"_crps": lambda self, y: -Good._crps(self, y)},
        "crps is negative: y = ",
    ),
    "a wrong mean": (
        {"_mean": lambda self: self.loc + 0.01},
        "mean of row 0 is not that of its CDF: found = 0.01, expected = ",
    ),
    "a wrong variance": (
        {"_var": lambda self: 1.01 * Good._var(self)},
        "std of row 0 is not that of its CDF: found = 1.82",
    ),
    "a wrong CRPS": (
        {"_crps": lambda self, y: 1.01 * Good._crps(self, y)},
        "crps of row 0 at -3.476... is not the integral over its CDF: found = ",
    ),
    # scores
    "a score that saturates": (
        {"_score": lambda self, y: ndtri(Good._cdf(self, y))},
        "a score is not finite: y = ",
    ),
    "a score that falls": (
        {"_score": lambda self, y: self._z(y) * np.where(abs(self._z(y)) < 1.0, -1.0, 1.0)},
        "the score falls as y rises: y = ",
    ),
    "a score that says nothing": (
        {"_score": lambda self, y: flat(self._z(y))},
        "the score does not tell a value far out from the middle: lowest = 0.0",
    ),
    "an unscore of another score": (
        {"_unscore": lambda self, s: self.loc[:, None] + s},
        "the score of unscore(s) is not s: found = ",
    ),
    "a score that is flat in the middle": (
        {
            "_score": lambda self, y: np.sign(self._z(y)) * np.maximum(abs(self._z(y)) - 1.0, 0.0),
            "_unscore": lambda self, s: self.loc[:, None] + s + np.sign(s),
        },
        "unscore(score(y)) is not y: y = ",
    ),
    "an unscore that falls": (
        {
            "_score": lambda self, y: self._z(y),
            "_unscore": lambda self, s: self.loc[:, None] + s - (abs(s - 3.0) < 0.1),
        },
        "unscore falls as the score rises: s = 2.75, found = 2.75",
    ),
    # samples
    "draws lying down": (
        {"_sample": lambda self, size, rng: Good._sample(self, size, rng).T},
        "1 draws have shape (1, 2); expected (2, 1)",
    ),
    "an endless draw": (
        {"_sample": lambda self, size, rng: np.full((len(self), size), np.inf)},
        "a draw is not finite: found = inf",
    ),
    "draws that ignore random_state": (
        {"_sample": lambda self, size, rng: Good._sample(self, size, np.random.default_rng())},
        "draws do not repeat with the same random_state",
    ),
    "draws that spoil a Generator": (
        {"sample": twice_from_a_generator},
        "draws by a Generator are not those of its seed",
    ),
    "draws that are always the same": (
        {"_sample": lambda self, size, rng: Good._sample(self, size, np.random.default_rng(0))},
        "draws do not depend on random_state: first_draw = ",
    ),
    "draws that spread too far": (
        {"_sample": wider},
        "draws do not follow the CDF: 0.0",
    ),
    # arguments
    "a method that writes to y": (
        {"_logpdf": lambda self, y: Good._logpdf(self, np.round(y, 9, out=y))},
        "pdf changes its argument: found = ",
    ),
    "a result that is kept": (
        {"cdf": remembered_cdf},
        "cdf returns an array that it still uses: found = nan",
    ),
    "narrow numbers, narrow results": (
        {"crps": lambda self, y: super(Good, self).crps(y).astype(getattr(y, "dtype", float))},
        "crps of float32 is not that of float64",
    ),
    "a mean that is kept": (
        {"_mean": lambda self: self.loc},
        "mean returns an array that it still uses: found = nan",
    ),
}


@cache
def caught(name):
    methods, _ = MUTANTS[name]
    return error_of(check_distribution, type("Broken", (Good,), methods)([0.0, 3.0]))


def test_a_class_of_ones_own_passes():
    check_distribution(Good([0.0, 3.0]), tolerance=1e-8)


def test_a_cut_class_of_ones_own_passes():
    check_distribution(type("Cut", (Good,), {"_atoms": CUT})([0.0, 3.0]))


def test_one_row_passes():
    check_distribution(Good([3.0]))


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_promise_is_named(name):
    error = caught(name)
    assert error is not None, "nothing was noticed"
    assert says(error, MUTANTS[name][1]), str(error)


def test_no_promise_is_left_that_nothing_breaks():
    hit = {broken_promise(_distribution, caught(name)) for name in MUTANTS}
    assert set(promises(_distribution).values()) - hit == set()


def test_what_is_no_distribution_is_refused():
    with pytest.raises(TypeError, match=r"dist is a list; .* trueline\.as_distribution\(dist\)"):
        check_distribution([0.0, 1.0])


def test_tolerance_is_that_of_moments():
    broken = type("Broken", (Good,), {"_mean": lambda self: self.loc + 1e-5})
    check_distribution(broken([0.0, 3.0]), tolerance=1e-4)
    with pytest.raises(AssertionError, match="mean of row 0"):
        check_distribution(broken([0.0, 3.0]))
