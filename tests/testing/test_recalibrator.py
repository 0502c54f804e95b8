"""`check_recalibrator` passes what keeps the contract and catches every way to break it."""

import copy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import trueline as tl
from tests.testing.sites import broken_promise, error_of, promises, says
from trueline.laws import NormalLaw
from trueline.recalibration import QuantileForest
from trueline.testing import _recalibrator, check_recalibrator
from trueline.testing._trial import BASES

NORMAL = [BASES["Normal"]]


class Good(tl.Isotonic):
    """A map of one's own, with all that a library's map can do."""


class Features(tl.Isotonic):
    """A map that takes features at fit and transform."""

    def fit(self, y, dist, sample_weight=None, groups=None, X=None):
        return super().fit(y, dist, sample_weight)

    def transform(self, dist, groups=None, X=None):
        return super().transform(dist)


class Plain(tl.Recalibrator):
    """The least that a class of one's own gives: a normal law, with no state to hand on."""

    def fit(self, y, dist, sample_weight=None, groups=None):
        s = dist.score(y)
        weight = np.ones(len(s)) if sample_weight is None else np.asarray(sample_weight)
        mean = np.average(s, weights=weight)
        std = np.sqrt(np.average((s - mean) ** 2, weights=weight))
        self.law_ = NormalLaw(mean, std if std > 1e-9 else 1.0)
        return self

    def transform(self, dist, groups=None):
        self._check_fitted()
        return dist._recalibrate(self.law_)

    def merge(self, other):
        raise NotImplementedError("Plain does not merge: it keeps no rows.")

    def compress(self, max_knots):
        raise NotImplementedError("Plain does not compress: it keeps no rows.")

    @property
    def compression_error_(self):
        return 0.0

    def _state(self):
        raise TypeError("Plain does not become JSON.")

    def _set_state(self, state):
        raise TypeError("Plain does not come from JSON.")

    def _is_fitted(self):
        return hasattr(self, "law_")


# ---- mutants ---------------------------------------------------------------------------


class Mutant(NamedTuple):
    """Methods that break a promise, and what the check says of them."""

    methods: dict[str, Any]
    fault: str
    base: type[tl.Recalibrator] = Good
    params: tuple[Any, ...] = ()


def bent(dist, **methods):
    """A distribution with some of its methods replaced."""
    out = copy.copy(dist)
    out.__class__ = type("Bent", (type(dist),), methods)
    return out


def transform_to(change, when=lambda fitted: True):
    """A transform whose result is changed."""

    def transform(self, dist, groups=None):
        out = Good.transform(self, dist)
        return change(out) if when(self) else out

    return transform


def fit_on(change):
    """A fit on other rows and weights than those given."""

    def fit(self, y, dist, sample_weight=None, groups=None):
        return Good.fit(self, *change(y, dist, sample_weight))

    return fit


def merge_to(change):
    """A merge whose result is changed, given both parts."""

    def merge(self, other):
        return change(self, other, Good.merge(self, other))

    return merge


def refuse(message, error=TypeError):
    def method(self, *args):
        raise error(message)

    return method


def few(fitted):
    return fitted.scores_.total <= 10


def compressed(fitted):
    return fitted.scores_.error > 0


def error_after_fit(error):
    """A compression_error_ that is refused before fit, as it should be."""

    def compression_error_(self):
        self._check_fitted()
        return error(self)

    return property(compression_error_)


def unnamed(self):
    if not self._is_fitted():
        raise tl.NotFittedError("not yet")


def forgets_to_check(self, dist, groups=None):
    return Good.transform(self, dist) if self._is_fitted() else dist


def merge_after_a_merge(self, other):
    if getattr(self, "merged", False) or getattr(other, "merged", False):
        return copy.copy(self)
    out = Good.merge(self, other)
    out.merged = True
    return out


def merge_in_place(self, other):
    self._learn(Good.merge(self, other).scores_)
    return copy.copy(self)


def compress_in_place(self, max_knots):
    self._learn(Good.compress(self, max_knots).scores_)
    return copy.copy(self)


def compress_twice(self, max_knots):
    out = Good.compress(self, max_knots)
    out.again = compressed(self)
    return out


def two_files(self, path=None):
    if path is not None:
        Path(path).with_suffix(".tmp").write_text("{}", encoding="utf-8")
    return Good.to_json(self, path)


def another_text(self, path=None):
    text = Good.to_json(self)
    return text if path is None else Path(path).write_text(text + " ", encoding="utf-8")


def another_version(self, path=None):
    text = Good.to_json(self).replace('"version": 1', '"version": 2')
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def restless_text(self, path=None):
    text = Good.to_json(self) + " " * getattr(self, "restored", 0)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def padded_text(self, path=None):
    text = Good.to_json(self) + " " * (10_000 if compressed(self) else 0)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def rounded_state(self):
    state = Good._state(self)
    state["scores"]["values"] = np.round(state["scores"]["values"], 6).tolist()
    return state


def restored(self, state):
    Good._set_state(self, state)
    self.restored = 1


def other_params(self, state):
    Good._set_state(self, state)
    self.finite_sample = not self.finite_sample


def keep(self, y, dist, sample_weight=None, groups=None):
    old = copy.copy(self) if self._is_fitted() else None
    Good.fit(self, y, dist, sample_weight)
    return self if old is None else self._learn(old.merge(self).scores_)


def sort_in_place(given):
    """What a second fit does not show any more."""
    if isinstance(given, np.ndarray):
        given[...] = np.sort(given, axis=0)


def write_to(name):
    """A fit that writes to one of its arguments."""

    def fit(self, y, dist, sample_weight=None, groups=None):
        sort_in_place({"y": y, "sample_weight": sample_weight, "groups": groups}[name])
        return type(self).__base__.fit(self, y, dist, sample_weight, groups)

    return fit


def write_to_features(self, y, dist, sample_weight=None, groups=None, X=None):
    sort_in_place(X)
    return Features.fit(self, y, dist, sample_weight)


def move(self, y, dist, sample_weight=None, groups=None):
    dist.loc = dist.loc + 1.0
    return Good.fit(self, y, dist, sample_weight)


def move_in_transform(self, dist, groups=None):
    self._check_fitted()
    dist.loc = dist.loc + 1.0
    return Good.transform(self, dist)


def centred(self, dist, groups=None):
    self._check_fitted()
    return Good.transform(self, tl.Normal(dist.loc - dist.loc.mean(), dist.scale))


def give_back_another(self, y, dist, sample_weight=None, groups=None):
    return copy.copy(Good.fit(self, y, dist, sample_weight))


def set_another_parameter(self, y, dist, sample_weight=None, groups=None):
    self.finite_sample = False
    return Good.fit(self, y, dist, sample_weight)


def noisy(y, dist, w):
    return np.asarray(y) + np.random.default_rng().normal(size=len(y)), dist, w


def without_the_last(y, dist, w):
    return y[:-1], dist[:-1], None if w is None else w[:-1]


def beside_normal(y, dist, w):
    return (y if isinstance(dist, tl.Normal) else np.asarray(y) + 1.0), dist, w


class Duck:
    """What `transform` must not give, however it quacks."""

    def __init__(self, dist):
        self.dist = dist

    def __getattr__(self, name):
        return getattr(self.dist, name)


def off_by_one(self, width=1):
    self.width = width + 1


NOT_A_NUMBER = {"_logpdf": lambda self, y: np.full((len(self), y.shape[1]), np.nan)}


def reverse_quantiles(dist):
    return bent(dist, _ppf=lambda self, q: type(dist)._ppf(self, 1.0 - q))


def shift_quantiles(by):
    return lambda dist: bent(dist, _ppf=lambda self, q: type(dist)._ppf(self, q) + by)


def endless_quantiles(dist):
    return bent(dist, _ppf=lambda self, q: np.where(q < 1e-9, -np.inf, type(dist)._ppf(self, q)))


def upside_down(dist):
    return bent(dist, interval=lambda self, c=0.9: type(dist).interval(self, c)[::-1])


def inside_out(dist):
    return bent(dist, interval=lambda self, c=0.9: type(dist).interval(self, 1.0 - np.asarray(c)))


def of_another_kind(dist):
    out = copy.copy(dist)
    out.score_kind = "residual"
    return out


def endless_draws(dist):
    return bent(dist, _sample=lambda self, size, rng: np.full((len(self), size), np.inf))


def no_density(dist):
    return bent(dist, **NOT_A_NUMBER)


def no_far_density(dist):
    def logpdf(self, y):
        # Values that were seen are asked about one at a time.
        return type(dist)._logpdf(self, y) + (np.nan if y.shape[1] > 1 else 0.0)

    return bent(dist, _logpdf=logpdf)


MUTANTS = {
    # parameters
    "a constructor that computes": Mutant(
        {"__init__": off_by_one}, "the constructor changes width from 2 to 3"
    ),
    "a clone with defaults": Mutant(
        {"__sklearn_clone__": lambda self: type(self)()},
        "clone makes Broken() of Broken(finite_sample=False)",
        params=(False,),
    ),
    "set_params returns nothing": Mutant(
        {"set_params": lambda self, **params: None}, "set_params does not return self"
    ),
    "set_params sets nothing": Mutant(
        {"set_params": lambda self, **params: self},
        "set_params with the parameters of Broken(finite_sample=False) gives Broken()",
        params=(False,),
    ),
    "get_params knows less in depth": Mutant(
        {"get_params": lambda self, deep=True: {} if deep else Good.get_params(self)},
        "get_params(deep=True) lacks ['finite_sample', 'support']",
    ),
    "any parameter will do": Mutant(
        {"set_params": lambda self, **params: self},
        "set_params(no_such_parameter=1) is not refused by name: None",
    ),
    # before fit
    "transform without fit": Mutant({"transform": forgets_to_check}, "transform works before fit"),
    "an error that does not help": Mutant(
        {"_check_fitted": unnamed}, "transform before fit does not say to call fit of Broken: "
    ),
    "an error by accident": Mutant(
        {
            "transform": lambda self, dist, groups=None: dist._recalibrate(
                self._law_of(self._scores)
            )
        },
        "transform before fit does not raise trueline.NotFittedError but AttributeError(",
    ),
    "a curt refusal before fit": Mutant(
        {
            "compress": lambda self, k: refuse(
                "Broken does not compress." if self._is_fitted() else "no"
            )(self)
        },
        "compress is refused without saying whose it is and why: TypeError('no')",
    ),
    # fit
    "fit gives back another": Mutant({"fit": give_back_another}, "fit does not return self"),
    "fit writes to y": Mutant({"fit": write_to("y")}, "fit changes y: found = "),
    "fit writes to the weights": Mutant(
        {"fit": write_to("sample_weight")}, "fit changes sample_weight: found = "
    ),
    "fit writes to the groups": Mutant(
        {"fit": write_to("groups")}, "fit changes groups", base=tl.Grouped
    ),
    "fit writes to X": Mutant({"fit": write_to_features}, "fit changes X: found = ", base=Features),
    "fit writes to the forecast": Mutant({"fit": move}, "fit changes the forecast: found = "),
    "fit writes to a parameter": Mutant(
        {"fit": set_another_parameter},
        "fit changes parameters from Broken(finite_sample=True, support='auto') to "
        "Broken(finite_sample=False, support='auto')",
    ),
    "fit draws without a seed": Mutant(
        {"fit": fit_on(noisy)}, "a second fit on the same rows differs: cdf: found = "
    ),
    "fit keeps old rows": Mutant({"fit": keep}, "fit remembers earlier rows: cdf: found = "),
    "fit reads lists backwards": Mutant(
        {"fit": fit_on(lambda y, dist, w: (y[::-1] if isinstance(y, list) else y, dist, w))},
        "lists give another map than arrays: cdf: found = ",
    ),
    # transform
    "transform writes to the forecast": Mutant(
        {"transform": move_in_transform}, "transform changes the forecast: found = "
    ),
    "rows that depend on each other": Mutant(
        {"transform": centred}, "a row's forecast depends on the rows beside it: cdf: found = "
    ),
    # quantiles
    "quantiles that are endless": Mutant(
        {"transform": transform_to(endless_quantiles)},
        "a quantile is not finite: level = 1e-12, found = -inf",
    ),
    "quantiles that fall": Mutant(
        {"transform": transform_to(reverse_quantiles)},
        "a quantile falls as its level rises: level = 1e-12, found = ",
    ),
    "intervals upside down": Mutant(
        {"transform": transform_to(upside_down)}, "an interval is upside down: coverage = 0.02"
    ),
    "intervals inside out": Mutant(
        {"transform": transform_to(inside_out)}, "intervals do not nest: coverage = "
    ),
    "draws that are endless": Mutant(
        {"transform": transform_to(endless_draws)}, "a draw is not finite: found = inf"
    ),
    "quantiles too low": Mutant(
        {"transform": transform_to(shift_quantiles(-0.1))}, "cdf(ppf(q)) < q: q = "
    ),
    "quantiles too high": Mutant(
        {"transform": transform_to(shift_quantiles(0.1))},
        "ppf(q) is not the smallest y with cdf(y) >= q: q = ",
    ),
    # order and weights
    "weights that are ignored": Mutant(
        {"fit": fit_on(lambda y, dist, w: (y, dist, None))},
        "a row of weight 0 counts: cdf: found = ",
    ),
    "the last row left out": Mutant(
        {"fit": fit_on(without_the_last)},
        "the map depends on the order of rows: cdf: found = ",
    ),
    "the last weighted row left out": Mutant(
        {
            "fit": fit_on(
                lambda y, dist, w: (y, dist, w) if w is None else without_the_last(y, dist, w)
            )
        },
        "the map depends on the order of weighted rows: cdf: found = ",
    ),
    "roots of weights": Mutant(
        {"fit": fit_on(lambda y, dist, w: (y, dist, None if w is None else np.sqrt(w)))},
        "a row is not as copies of it that share its weight: cdf: found = ",
    ),
    "ones that count half": Mutant(
        {"fit": fit_on(lambda y, dist, w: (y, dist, 0.5 * w if np.all(w == 1.0) else w))},
        "weights of 1 are not as no weights: cdf: found = ",
    ),
    # merge
    "a merge that writes to its parts": Mutant(
        {"merge": merge_in_place}, "merge changes its parts: its JSON differs"
    ),
    "a merge that drops a part": Mutant(
        {"merge": merge_to(lambda a, b, both: copy.copy(a))},
        "merged maps are not the map of all rows: cdf: found = ",
    ),
    "a merge that depends on the order": Mutant(
        {
            "merge": merge_to(
                lambda a, b, both: copy.copy(a) if a.scores_.total > b.scores_.total else both
            )
        },
        "merged the other way round, maps differ: cdf: found = ",
    ),
    "a merge of two only": Mutant(
        {"merge": merge_after_a_merge}, "three maps merge otherwise than two: cdf: found = "
    ),
    "a merge without weights": Mutant(
        {"merge": merge_to(lambda a, b, both: both if a.scores_.weights is None else copy.copy(a))},
        "merged weighted maps are not the map of all rows: cdf: found = ",
    ),
    "a merge of different maps only": Mutant(
        {
            "merge": merge_to(
                lambda a, b, both: copy.copy(a) if a.to_json() == b.to_json() else both
            )
        },
        "a map merged with itself is not that of the rows twice: cdf: found = ",
    ),
    # compress
    "an exact map that has lost something": Mutant(
        {"compression_error_": error_after_fit(lambda self: max(self.scores_.error, 0.1))},
        "compression_error_ of an exact map is 0.1; expected 0",
    ),
    "a compression where none is due": Mutant(
        {"compress": lambda self, k: Good.compress(self, max(k // 2, 2))},
        "compressing to as many knots as there are rows changes the map: cdf: found = ",
    ),
    "a compression in place": Mutant(
        {"compress": compress_in_place},
        "compress changes the map it is called on: its JSON differs",
    ),
    "a compression that does not say what it lost": Mutant(
        {"compression_error_": error_after_fit(lambda self: 0.0)},
        "compression_error_ does not fall with more knots: [0.0, 0.0, 0.0, 0.0]",
    ),
    "a compression that loses everything": Mutant(
        {"transform": transform_to(no_density, compressed)},
        "logpdf is NaN after compressing to 2 knots: found = nan",
    ),
    "a compression that forgets": Mutant(
        {
            "compress": compress_twice,
            "compression_error_": error_after_fit(
                lambda self: 1e-9 if getattr(self, "again", False) else self.scores_.error
            ),
        },
        "compression_error_ falls from 0.0...",
    ),
    "a compression that grows": Mutant(
        {"to_json": padded_text},
        "8, 90 and all knots have states of [",
    ),
    "a merge that forgets the compression": Mutant(
        {
            "merge": merge_to(lambda a, b, both: setattr(both, "forgot", True) or both),
            "compression_error_": error_after_fit(
                lambda self: 0.0 if getattr(self, "forgot", False) else self.scores_.error
            ),
        },
        "merging loses track of compression_error_: 0.0 after 0.0",
    ),
    "a merge that compression spoils": Mutant(
        {
            "merge": merge_to(lambda a, b, both: setattr(both, "spoilt", compressed(a)) or both),
            "transform": transform_to(no_density, lambda fitted: getattr(fitted, "spoilt", False)),
        },
        "logpdf is NaN after merging a compressed map: found = nan",
    ),
    # copies
    "a pickle with less in it": Mutant(
        {"__getstate__": lambda self: Good.compress(self, 5).__dict__},
        "pickle gives back another map: cdf: found = ",
    ),
    "a clone with all in it": Mutant({"__sklearn_clone__": copy.deepcopy}, "a clone is fitted"),
    "a file that is not the text": Mutant(
        {"to_json": another_text}, "the file that to_json writes is not the text that it returns"
    ),
    "a file that is left": Mutant(
        {"to_json": two_files}, "to_json leaves [...]; expected ['map.json']"
    ),
    "a file of another version": Mutant(
        {"to_json": another_version}, "load does not read what to_json wrote: "
    ),
    "a name that is taken": Mutant(
        {"__name__": "Isotonic"},
        "JSON gives back a <class '...Isotonic'>; expected <class '...Broken'>",
    ),
    "JSON of other parameters": Mutant(
        {"_set_state": other_params},
        "JSON gives back Broken(finite_sample=False), fitted on 40 rows; "
        "expected Broken(), fitted on 40 rows",
    ),
    "JSON with fewer digits": Mutant(
        {"_state": rounded_state}, "JSON gives back another map: cdf: found = "
    ),
    "JSON that changes on the way": Mutant(
        {"_set_state": restored, "to_json": restless_text},
        "JSON of a map that came from JSON differs",
    ),
    "JSON without what was lost": Mutant(
        {
            "_set_state": restored,
            "compression_error_": error_after_fit(
                lambda self: 0.0 if getattr(self, "restored", 0) else self.scores_.error
            ),
        },
        "JSON gives back a compression_error_ of 0.0; expected 0.0...",
    ),
    "JSON that does not merge": Mutant(
        {
            "_set_state": restored,
            "merge": merge_to(
                lambda a, b, both: copy.copy(a) if getattr(a, "restored", 0) else both
            ),
        },
        "a map that came from JSON merges otherwise: cdf: found = ",
    ),
    # recalibrating again
    "a forecast of another kind": Mutant(
        {"transform": transform_to(of_another_kind)},
        "score_kind of a recalibrated forecast is residual; expected standardised",
    ),
    "a forecast with another score": Mutant(
        {
            "transform": transform_to(
                lambda dist: bent(dist, score=lambda self, y: type(dist).score(self, y) + 1.0)
            )
        },
        "a recalibrated forecast has another score: found = ",
    ),
    "a transform of fresh forecasts only": Mutant(
        {
            "transform": lambda self, dist, groups=None: (
                Good.transform(self, dist)
                if isinstance(dist, tl.Normal)
                else tl.Scaling()._learn(self.scores_).transform(dist)
            )
        },
        "a forecast that is transformed twice differs: cdf: found = ",
    ),
    "a fit on fresh forecasts only": Mutant(
        {"fit": fit_on(beside_normal)},
        "fitted on recalibrated forecasts, the map differs: cdf: found = ",
    ),
    # few rows
    "no mean from few rows": Mutant(
        {
            "transform": transform_to(
                lambda dist: bent(dist, _mean=lambda self: np.full(len(self), np.inf)), few
            )
        },
        "mean is not finite when fitted on 1 row: found = inf",
    ),
    "quantiles that fall with few rows": Mutant(
        {"transform": transform_to(reverse_quantiles, few)},
        "a quantile falls as its level rises when fitted on 1 row: level = 1e-12",
    ),
    "no spread from few rows": Mutant(
        {
            "transform": transform_to(
                lambda dist: bent(dist, _var=lambda self: np.zeros(len(self))), few
            )
        },
        "a forecast has no spread when fitted on 1 row: var = 0.0",
    ),
    "no density far out from few rows": Mutant(
        {"transform": transform_to(no_far_density, few)},
        "logpdf is NaN when fitted on 1 row: found = nan",
    ),
}

# Promises that are kept wherever a map is used, whatever is being checked.
ANYWHERE = {
    "transform gives something else": Mutant(
        {"transform": transform_to(Duck)},
        "transform gives a Duck; expected a trueline.Distribution",
    ),
    "transform loses a row": Mutant(
        {"transform": transform_to(lambda dist: dist[:-1])}, "transform gives 39 of 40 rows"
    ),
    "a refusal without a name": Mutant(
        {"merge": refuse("unsupported operand")},
        "merge is refused without saying whose it is and why: TypeError('unsupported operand')",
    ),
    "a refusal without a word": Mutant(
        {"to_json": refuse("", NotImplementedError)},
        "to_json is refused without saying whose it is and why: NotImplementedError('')",
    ),
}


@cache
def caught(name):
    mutant = {**MUTANTS, **ANYWHERE}[name]
    # A class can be pickled if it is found where it says that it is.
    kind = type(mutant.methods.get("__name__", "Broken"), (mutant.base,), mutant.methods)
    kind.__module__, kind.__qualname__ = __name__, "Broken"
    globals()["Broken"] = kind
    return error_of(check_recalibrator, kind(*mutant.params), NORMAL)


@pytest.mark.parametrize("name", [*MUTANTS, *ANYWHERE])
def test_a_broken_promise_is_named(name):
    error = caught(name)
    assert error is not None, "nothing was noticed"
    assert says(error, {**MUTANTS, **ANYWHERE}[name].fault), str(error)


def test_no_promise_is_left_that_nothing_breaks():
    hit = {broken_promise(_recalibrator, caught(name)) for name in MUTANTS}
    assert set(promises(_recalibrator).values()) - hit == set()


# ---- what passes -----------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Good, Features, Plain])
def test_a_class_of_ones_own_passes(kind):
    check_recalibrator(kind(), NORMAL)


def test_a_class_of_ones_own_passes_on_every_forecast():
    check_recalibrator(Plain())


@pytest.mark.parametrize("base", BASES)
def test_conditional_passes(base):
    forest = QuantileForest(10, random_state=0)
    check_recalibrator(tl.Conditional(forest), [BASES[base]], tolerance=0.0)


def test_conditional_without_a_seed_does_not_repeat():
    with pytest.raises(AssertionError, match="a second fit on the same rows differs"):
        check_recalibrator(tl.Conditional(QuantileForest(10)), NORMAL)


def test_a_required_parameter_is_no_obstacle():
    class Required(tl.Isotonic):
        def __init__(self, width):
            self.width = width

        finite_sample = True

    globals()["Required"] = Required
    Required.__qualname__ = "Required"
    check_recalibrator(Required(3), NORMAL)


def test_a_fit_that_fails_fails_as_it_is():
    class Failing(tl.Isotonic):
        def fit(self, y, dist, sample_weight=None, groups=None):
            raise ValueError("the fit failed")

    with pytest.raises(ValueError, match="the fit failed"):
        check_recalibrator(Failing(), NORMAL)


@pytest.mark.parametrize("thing, found", [(tl.Isotonic, "class"), ("isotonic", "str")])
def test_what_is_no_recalibrator_is_refused(thing, found):
    with pytest.raises(TypeError, match=rf"recalibrator is a {found}; .* such as Isotonic\(\)"):
        check_recalibrator(thing)


def test_tolerance_is_the_difference_between_maps():
    class Rounding(Plain):
        def fit(self, y, dist, sample_weight=None, groups=None):
            super().fit(y, dist, sample_weight)
            # The first row leaves a trace in the seventh digit.
            self.law_ = NormalLaw(self.law_.mean + 1e-7 * np.tanh(y[0]), np.sqrt(self.law_.var))
            return self

        def _check_fitted(self):
            if not self._is_fitted():
                raise tl.NotFittedError("Rounding is not fitted: call fit(y, dist) first.")

        merge = refuse("Rounding does not merge.")
        compress = refuse("Rounding does not compress.")
        _state = refuse("Rounding does not become JSON.")

    globals()["Rounding"] = Rounding
    Rounding.__qualname__ = "Rounding"
    check_recalibrator(Rounding(), NORMAL, tolerance=1e-5)
    with pytest.raises(AssertionError, match="the map depends on the order of rows"):
        check_recalibrator(Rounding(), NORMAL)


def test_a_recalibrator_of_ones_own_serves_in_the_estimator():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + rng.normal(size=60)
    model = tl.CalibratedRegressor(LinearRegression(), method=Plain(), random_state=0).fit(X, y)
    lower, upper = model.predict_interval(X, 0.8)
    assert (lower < upper).all()
