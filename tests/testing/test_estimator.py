"""`check_estimator` passes what keeps the contract and catches every way to break it."""

import copy
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import check_is_fitted

import trueline as tl
from tests.testing.sites import broken_promise, error_of, promises, says
from trueline.testing import _estimator, check_estimator


class Good(RegressorMixin, BaseEstimator):
    """Least squares with errors that a recalibrator learned: a user's own estimator."""

    def __init__(self, method=None):
        self.method = method

    def fit(self, X, y, sample_weight=None, groups=None):
        method = tl.Scaling() if self.method is None else copy.deepcopy(self.method)
        self.line_ = LinearRegression().fit(X, y, sample_weight)
        self.map_ = method.fit(y, tl.Point(self.line_.predict(X)), sample_weight)
        return self

    def predict_dist(self, X, groups=None):
        check_is_fitted(self)
        return self.map_.transform(tl.Point(self.line_.predict(X)))

    def predict(self, X, groups=None):
        return self.predict_dist(X).mean()

    def predict_quantiles(self, X, levels, groups=None):
        return self.predict_dist(X).ppf(levels)

    def predict_interval(self, X, coverage=0.9, groups=None):
        return self.predict_dist(X).interval(coverage)


# ---- mutants ---------------------------------------------------------------------------


class Mutant(NamedTuple):
    """Methods that break a promise, and what the check says of them."""

    methods: dict[str, Any]
    fault: str
    method: Any = None
    groups: Any = None


def write_to(name):
    """A fit that writes to one of its arguments."""

    def fit(self, X, y, sample_weight=None, groups=None):
        given = {"X": X, "y": y, "sample_weight": sample_weight, "groups": groups}[name]
        if given is not None:
            given[...] = np.sort(given, axis=0)  # which a second fit does not show any more
        return Good.fit(self, X, y, sample_weight)

    return fit


def fit_with(change):
    """A fit that does something more, before or after."""

    def fit(self, X, y, sample_weight=None, groups=None):
        return change(self, X, y, sample_weight) or self

    return fit


def fit_what_was_given(self, X, y, sample_weight):
    Good.fit(self, X, y, sample_weight)
    self.map_ = self.method.fit(y, tl.Point(self.line_.predict(X)), sample_weight)


def change_a_parameter(self, X, y, sample_weight):
    self.method = tl.Isotonic()
    Good.fit(self, X, y, sample_weight)


def quantiles_to(change):
    def predict_quantiles(self, X, levels, groups=None):
        return change(Good.predict_quantiles(self, X, levels))

    return predict_quantiles


def interval_to(change):
    def predict_interval(self, X, coverage=0.9, groups=None):
        return change(*Good.predict_interval(self, X, coverage))

    return predict_interval


def nests_inside_out(self, X, coverage=0.9, groups=None):
    return Good.predict_interval(self, X, 1.0 - coverage)


def lagging_cdf(self, X, groups=None):
    out = copy.copy(Good.predict_dist(self, X))
    law = type(out)
    out.__class__ = type("Bent", (law,), {"_cdf": lambda self, y: law._cdf(self, y) * 0.99})
    return out


def centred(self, X, groups=None):
    return Good.predict_dist(self, X - X.mean(axis=0))


def draw(self, X, y, sample_weight):
    rows = np.random.default_rng().integers(len(y), size=len(y))
    Good.fit(self, X[rows], y[rows], None if sample_weight is None else sample_weight[rows])


def keep(self, X, y, sample_weight):
    known = getattr(self, "known_", None)
    self.known_ = (X, y, np.ones(len(y)) if sample_weight is None else sample_weight)
    if known is not None:
        both = [np.concatenate(pair) for pair in zip(known, self.known_, strict=True)]
        return Good.fit(self, *both)
    return Good.fit(self, X, y, sample_weight)


def lossy_pickle(self):
    state = copy.deepcopy(self.__dict__)
    state["line_"].intercept_ += 0.1
    return state


def shared_clone(self):
    return type(self)(self.method)


def shallow_params(self, deep=True):
    return {"method": self.method}


def set_another(self, **params):
    """Set a parameter of a parameter on a copy that nobody sees."""
    for name, value in params.items():
        setattr(self, name.partition("__")[0], self.method if "__" in name else value)
    return self


def set_nothing(self, **params):
    self.method = None
    return self


def fits_otherwise_once_set(self, X, y, sample_weight):
    Good.fit(self, X, y, sample_weight)
    if getattr(self, "was_set", False):
        self.line_.intercept_ += 0.1


def mark_as_set(self, **params):
    self.was_set = True
    return Good.set_params(self, **params)


ISOTONIC = tl.Isotonic()

MUTANTS = {
    # inputs
    "fit returns nothing": Mutant(
        {"fit": lambda self, *args, **kwargs: copy.copy(Good.fit(self, *args, **kwargs))},
        "fit does not return self",
    ),
    "fit writes to X": Mutant({"fit": write_to("X")}, "fit or predict changes X: before = "),
    "fit writes to y": Mutant({"fit": write_to("y")}, "fit or predict changes y: before = "),
    "fit writes to the weights": Mutant(
        {"fit": write_to("sample_weight")}, "fit or predict changes sample_weight: before = "
    ),
    "fit writes to the groups": Mutant(
        {"fit": write_to("groups")},
        "fit or predict changes groups: before = 'b', after = 'a'",
        groups=np.where(np.arange(120) % 3 == 0, "b", "a"),
    ),
    "predict writes to X": Mutant(
        {"predict": lambda self, X, groups=None: Good.predict(self, np.round(X, 3, out=X))},
        "fit or predict changes X: before = ",
    ),
    "fit changes a parameter": Mutant(
        {"fit": fit_with(change_a_parameter)}, "fit changes method from None to Isotonic()"
    ),
    "fit fits what was given": Mutant(
        {"fit": fit_with(fit_what_was_given)},
        "fit fits the recalibrator that was given as method; expected a copy to be fitted",
        method=ISOTONIC,
    ),
    # quantiles
    "a level too few": Mutant(
        {"predict_quantiles": quantiles_to(lambda values: values[:, 1:])},
        "quantiles have shape (120, 4); expected (120, 5)",
    ),
    "an endless quantile": Mutant(
        {"predict_quantiles": quantiles_to(lambda values: values * np.inf)},
        "a quantile is not finite: level = 0.1, found = ",
    ),
    "quantiles that fall": Mutant(
        {"predict_quantiles": quantiles_to(lambda values: values[:, ::-1])},
        "a quantile falls as its level rises: level = 0.1, found = ",
    ),
    "quantiles of another forecast": Mutant(
        {"predict_quantiles": quantiles_to(lambda values: values + 0.1)},
        "quantiles are not those of predict_dist: found = ",
    ),
    # intervals
    "intervals in columns": Mutant(
        {"predict_interval": interval_to(lambda low, high: (low[:, None], high[:, None]))},
        "an end of an interval has shape (120, 1); expected (120,)",
    ),
    "intervals upside down": Mutant(
        {"predict_interval": interval_to(lambda low, high: (high, low))},
        "an interval is upside down: coverage = 0.2",
    ),
    "intervals inside out": Mutant(
        {"predict_interval": nests_inside_out}, "intervals do not nest: coverage = 0.5"
    ),
    "a lower end too low": Mutant(
        {"predict_interval": interval_to(lambda low, high: (low - 0.1, high))},
        "an interval does not end at its quantiles: found = ",
    ),
    "an upper end too high": Mutant(
        {"predict_interval": interval_to(lambda low, high: (low, high + 0.1))},
        "an interval does not end at its quantiles: found = ",
    ),
    # forecasts
    "a cdf that does not undo the quantiles": Mutant(
        {"predict_dist": lagging_cdf}, "cdf(ppf(q)) < q: q = 0.1, y = "
    ),
    "a prediction beside the mean": Mutant(
        {"predict": lambda self, X, groups=None: Good.predict(self, X) + 0.1},
        "predict is not the mean of predict_dist: found = ",
    ),
    "rows that depend on each other": Mutant(
        {"predict_dist": centred}, "rows do not follow X: found = "
    ),
    # fits and copies
    "a fit that draws without a seed": Mutant(
        {"fit": fit_with(draw)}, "a second fit on the same rows differs: found = "
    ),
    "a fit that keeps old rows": Mutant(
        {"fit": fit_with(keep)}, "a fit remembers an earlier one: found = "
    ),
    "a pickle that loses something": Mutant(
        {"__getstate__": lossy_pickle}, "pickle gives back another model: found = "
    ),
    "a clone of another kind": Mutant(
        {
            "__sklearn_clone__": lambda self: type(self)(
                tl.BetaCalibration() if hasattr(self, "line_") else self.method
            )
        },
        "clone makes Broken(method=BetaCalibration()) of Broken()",
    ),
    "a clone with all in it": Mutant({"__sklearn_clone__": copy.deepcopy}, "a clone is fitted"),
    "parameters that cannot be set": Mutant(
        {"set_params": set_nothing},
        "set_params does not take what get_params gives: {... became {'method': 'None'}",
        method=ISOTONIC,
    ),
    "a clone that fits otherwise": Mutant(
        {"fit": fit_with(fits_otherwise_once_set), "set_params": mark_as_set},
        "a clone fits otherwise: found = ",
    ),
    # the recalibrator among the parameters
    "a clone that shares": Mutant(
        {"__sklearn_clone__": shared_clone},
        "a clone shares its method with the original",
        method=ISOTONIC,
    ),
    "parameters that are not listed": Mutant(
        {"get_params": shallow_params},
        "get_params does not list method__finite_sample",
        method=ISOTONIC,
    ),
    "parameters that are not reached": Mutant(
        {"set_params": set_another},
        "set_params(method__finite_sample=...) does not reach the recalibrator",
        method=ISOTONIC,
    ),
    # weights
    "weights that are ignored": Mutant(
        {"fit": fit_with(lambda self, X, y, w: Good.fit(self, X, y))},
        "sample_weight is ignored: weights of 0 to 3 change no forecast",
    ),
    "roots of weights": Mutant(
        {"fit": fit_with(lambda self, X, y, w: Good.fit(self, X, y, w if w is None else w**0.5))},
        "a row is not as copies of it that share its weight: found = ",
    ),
}


@cache
def caught(name):
    mutant = MUTANTS[name]
    kind = type("Broken", (Good,), mutant.methods)
    # A class can be pickled if it is found where it says that it is.
    kind.__module__ = __name__
    globals()["Broken"] = kind
    X, y = _estimator._simulated_rows()
    model = kind(mutant.method)
    return error_of(check_estimator, model, X, y, groups=mutant.groups, weights_repeat=True)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_broken_promise_is_named(name):
    error = caught(name)
    assert error is not None, "nothing was noticed"
    assert says(error, MUTANTS[name].fault), str(error)


def test_no_promise_is_left_that_nothing_breaks():
    hit = {broken_promise(_estimator, caught(name)) for name in MUTANTS}
    assert set(promises(_estimator).values()) - hit == set()


# ---- what passes -----------------------------------------------------------------------


@pytest.mark.parametrize("method", [None, tl.Isotonic(), tl.Smooth(n_knots=5)])
def test_a_class_of_ones_own_passes(method):
    check_estimator(Good(method), weights_repeat=True)


@pytest.mark.parametrize(
    "params",
    [{}, {"ensemble": True, "cv": 4}, {"cv": "train"}, {"method": tl.Smooth()}, {"method": "auto"}],
    ids=repr,
)
def test_copies_share_a_weight_through_the_whole_estimator(params):
    params = {"scale_estimator": None, "random_state": 0, **params}
    check_estimator(tl.CalibratedRegressor(LinearRegression(), **params), weights_repeat=True)


def test_copies_count_where_rows_are_drawn():
    model = tl.CalibratedRegressor(LinearRegression(), method="conditional", random_state=0)
    with pytest.raises(AssertionError, match="a row is not as copies of it"):
        check_estimator(model.set_params(scale_estimator=None), weights_repeat=True)


def test_missing_values_are_no_changes():
    from sklearn.ensemble import HistGradientBoostingRegressor

    X, y = _estimator._simulated_rows()
    X[::7, 0] = np.nan
    boosting = HistGradientBoostingRegressor(max_iter=3)
    params = {"scale_estimator": None, "random_state": 0}
    check_estimator(tl.CalibratedRegressor(boosting, **params), X, y)


def test_rows_of_the_caller_are_never_written_to():
    X, y = _estimator._simulated_rows()
    kept = X.copy(), y.copy()
    broken = type("Broken", (Good,), {"fit": write_to("y")})
    with pytest.raises(AssertionError, match="changes y"):
        check_estimator(broken(), X, y)
    np.testing.assert_array_equal(X, kept[0])
    np.testing.assert_array_equal(y, kept[1])
