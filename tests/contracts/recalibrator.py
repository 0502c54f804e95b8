"""What every recalibrator must do, whatever its class."""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import trueline as tl

# Levels to the ends of what must be finite.
LEVELS = np.array(
    [1e-12, 1e-6, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0 - 1e-6, 1.0 - 1e-12]
)

Forecast = Callable[[np.ndarray, np.ndarray, np.random.Generator], tl.Distribution]


def _samples(loc: np.ndarray, scale: np.ndarray, rng: np.random.Generator) -> tl.Distribution:
    return tl.Samples(loc[:, None] + scale[:, None] * rng.normal(size=(len(loc), 15)))


def _quantiles(loc: np.ndarray, scale: np.ndarray, rng: np.random.Generator) -> tl.Distribution:
    levels = [0.05, 0.25, 0.5, 0.75, 0.95]
    return tl.Quantiles(levels, loc[:, None] + scale[:, None] * np.array([-1.6, -0.7, 0, 0.8, 2.1]))


def _mixture(loc: np.ndarray, scale: np.ndarray, rng: np.random.Generator) -> tl.Distribution:
    return tl.Mixture([tl.Normal(loc, scale), tl.Logistic(loc + scale, 2.0 * scale)], [0.7, 0.3])


#: One forecast of each kind, from a centre and a width a row.
BASES: dict[str, Forecast] = {
    "Normal": lambda loc, scale, rng: tl.Normal(loc, scale),
    "StudentT": lambda loc, scale, rng: tl.StudentT(loc, scale, df=4.0),
    "Point": lambda loc, scale, rng: tl.Point(loc),
    "Samples": _samples,
    "Quantiles": _quantiles,
    "Mixture": _mixture,
}


class Rows(NamedTuple):
    """Outcomes, their forecasts and the group of each row."""

    y: np.ndarray
    dist: tl.Distribution
    groups: np.ndarray

    def take(self, index: Any) -> Rows:
        """Return some of the rows."""
        return Rows(self.y[index], self.dist[index], self.groups[index])


def make_rows(base: Forecast, n: int, seed: int = 0) -> Rows:
    """Rows on which the forecast is biased and too sure of itself."""
    rng = np.random.default_rng(seed)
    loc, scale = 3.0 * rng.normal(size=n), np.exp(0.5 * rng.normal(size=n))
    y = loc + scale * (0.5 + 2.0 * rng.normal(size=n))
    return Rows(y, base(loc, 0.5 * scale, rng), np.array(["a", "b", "c"])[rng.integers(3, size=n)])


def check_recalibrator(recalibrator: tl.Recalibrator, bases: Iterable[Forecast] = ()) -> None:
    """Check that a recalibrator does what `trueline.Recalibrator` promises.

    Manners of fit, transform, parameters and copies; quantiles that rise and are inverted by
    the CDF; indifference to the order of rows; weights, merging, compression and JSON; what a
    second recalibration does; a handful of rows, and ties. Nothing here knows a class, except
    that `Grouped` wants groups.

    Parameters
    ----------
    recalibrator : Recalibrator
        With its parameters set. It is copied and not fitted.
    bases : iterable of callables, optional
        Each makes a forecast from centres, widths and a random generator. By default one of
        every kind that trueline has.

    Raises
    ------
    AssertionError
        At the first promise that is broken.
    """
    with warnings.catch_warnings():
        # Levels far out, few rows and ties are asked for on purpose.
        warnings.simplefilter("ignore", tl.CalibrationWarning)
        check_params(recalibrator)
        for base in bases or BASES.values():
            rows = make_rows(base, 40)
            new = make_rows(base, 5, seed=1)
            check_unfitted(recalibrator, rows)
            check_fit(recalibrator, rows, new)
            check_transform(recalibrator, rows, new)
            check_quantiles(fitted(recalibrator, rows), new)
            check_order_of_rows(recalibrator, rows, new)
            check_weights(recalibrator, rows, new)
            check_merge(recalibrator, rows, new)
            check_compress(recalibrator, base, new)
            check_copies(recalibrator, rows, new)
            check_recalibrated_again(recalibrator, rows, new)
            check_few_rows_and_ties(recalibrator, base)


# ---- how a recalibrator is used --------------------------------------------------------


def unfitted(recalibrator: tl.Recalibrator) -> tl.Recalibrator:
    """Return a copy with the same parameters that has learned nothing."""
    return type(recalibrator)(**recalibrator.get_params(deep=False))


def fitted(
    recalibrator: tl.Recalibrator, rows: Rows, sample_weight: np.ndarray | None = None
) -> tl.Recalibrator:
    """Return a copy that is fitted on these rows."""
    return _fit(unfitted(recalibrator), rows, sample_weight)


def _fit(
    recalibrator: tl.Recalibrator, rows: Rows, sample_weight: np.ndarray | None = None
) -> tl.Recalibrator:
    groups = rows.groups if isinstance(recalibrator, tl.Grouped) else None
    return recalibrator.fit(rows.y, rows.dist, sample_weight=sample_weight, groups=groups)


def transformed(recalibrator: tl.Recalibrator, rows: Rows) -> tl.Distribution:
    """Return the recalibrated forecasts of these rows."""
    groups = rows.groups if isinstance(recalibrator, tl.Grouped) else None
    return recalibrator.transform(rows.dist, groups=groups)


def outline(recalibrator: tl.Recalibrator, rows: Rows) -> dict[str, np.ndarray]:
    """Return what the map says of some rows: enough to tell any two maps apart.

    Values only, no quantiles: for some forecasts those take a root finder.
    """
    dist = transformed(recalibrator, rows)
    y = rows.y[:, None] + np.array([-20.0, -2.0, -0.7, 0.0, 0.4, 1.5, 15.0])
    return {name: getattr(dist, name)(y) for name in ("cdf", "logcdf", "logsf", "logpdf")}


def everything(dist: tl.Distribution, y: np.ndarray) -> dict[str, np.ndarray]:
    """Return every result of a distribution at y."""
    at_y = ("cdf", "sf", "logcdf", "logsf", "logpdf", "pdf", "crps")
    return {
        "ppf": dist.ppf(LEVELS),
        **{name: getattr(dist, name)(y) for name in at_y},
        **{name: getattr(dist, name)() for name in ("mean", "var")},
    }


def assert_same(
    a: dict[str, np.ndarray], b: dict[str, np.ndarray], what: str, rtol: float = 0.0
) -> None:
    """Assert that two sets of results are equal, to the last bit unless said otherwise."""
    for name, value in a.items():
        np.testing.assert_allclose(
            value, b[name], rtol=rtol, atol=rtol, err_msg=f"{what}: {name} differs"
        )


def refusal(call: Callable[[], object]) -> Exception | None:
    """Return the error that a call gives, if it is one that a caller can mend."""
    try:
        call()
    except (TypeError, ValueError) as error:
        return error
    return None


# ---- one promise each ------------------------------------------------------------------


def check_params(recalibrator: tl.Recalibrator) -> None:
    """Parameters come back from get_params, set_params and scikit-learn's clone."""
    from sklearn.base import clone

    params = recalibrator.get_params(deep=False)
    copy = type(recalibrator)(**params)
    for name, value in params.items():
        assert getattr(recalibrator, name) is value, f"{name} is changed by the constructor"
    assert repr(copy) == repr(recalibrator)
    assert repr(clone(recalibrator)) == repr(recalibrator)
    assert clone(recalibrator) is not recalibrator
    blank = type(recalibrator)()
    assert blank.set_params(**params) is blank
    assert repr(blank) == repr(recalibrator)
    assert set(params) <= set(recalibrator.get_params(deep=True))
    error = refusal(lambda: copy.set_params(no_such_parameter=1))
    assert "no_such_parameter" in str(error), "an unknown parameter was accepted"


def check_unfitted(recalibrator: tl.Recalibrator, rows: Rows) -> None:
    """Before fit, everything that needs one says so."""
    blank = unfitted(recalibrator)
    uses: dict[str, Callable[[], object]] = {
        "transform": lambda: transformed(blank, rows),
        "to_json": blank.to_json,
        "compress": lambda: blank.compress(10),
        "compression_error_": lambda: blank.compression_error_,
        "merge": lambda: blank.merge(fitted(blank, rows)),
        "merge, on the other side": lambda: fitted(blank, rows).merge(blank),
    }
    for name, use in uses.items():
        error = refusal(use)
        assert isinstance(error, tl.NotFittedError), f"{name} works before fit"
        expected = f"{type(blank).__name__} is not fitted: call fit(y, dist) first."
        assert str(error) == expected, name


def check_fit(recalibrator: tl.Recalibrator, rows: Rows, new: Rows) -> None:
    """Fit returns self, leaves its arguments and parameters alone, and forgets earlier rows."""
    copy, kept, weight = unfitted(recalibrator), rows.y.copy(), np.ones(len(rows.y))
    before = rows.dist.score(rows.y)
    assert _fit(copy, rows, weight) is copy, "fit does not return self"
    np.testing.assert_array_equal(rows.y, kept, err_msg="fit changes y")
    np.testing.assert_array_equal(weight, 1.0, err_msg="fit changes sample_weight")
    after = rows.dist.score(rows.y)
    np.testing.assert_array_equal(after, before, err_msg="fit changes the forecast")
    assert repr(copy) == repr(recalibrator), "fit changes parameters"
    first = outline(copy, new)
    other = rows.take(np.arange(0, len(rows.y), 2))
    assert_same(outline(_fit(copy, other), new), outline(fitted(recalibrator, other), new), "refit")
    assert_same(outline(_fit(copy, rows), new), first, "a third fit")
    as_lists = Rows(rows.y.tolist(), rows.dist, rows.groups.tolist())  # type: ignore[arg-type]
    assert_same(outline(fitted(recalibrator, as_lists), new), first, "lists for arrays")


def check_transform(recalibrator: tl.Recalibrator, rows: Rows, new: Rows) -> None:
    """Transform gives a distribution of as many rows, and each row depends on itself only."""
    fit = fitted(recalibrator, rows)
    before = new.dist.score(new.y)
    dist = transformed(fit, new)
    assert isinstance(dist, tl.Distribution)
    assert len(dist) == len(new.dist)
    assert dist.score_kind == new.dist.score_kind
    whole = outline(fit, new)
    after = new.dist.score(new.y)
    np.testing.assert_array_equal(after, before, err_msg="transform changes the forecast")
    order = np.array([3, 0, 4, 1, 2])
    shuffled = outline(fit, new.take(order))
    assert_same(shuffled, {k: v[order] for k, v in whole.items()}, "shuffled rows", rtol=1e-12)
    alone = outline(fit, new.take([2]))
    assert_same(alone, {k: v[[2]] for k, v in whole.items()}, "a single row", rtol=1e-12)


def check_quantiles(fit: tl.Recalibrator, new: Rows) -> None:
    """Quantiles are finite and rise, intervals nest, and the CDF undoes them."""
    dist = transformed(fit, new)
    q = np.concatenate([LEVELS, np.linspace(0.013, 0.987, 41)])
    q.sort()
    y = dist.ppf(q)
    assert np.isfinite(y).all(), "a quantile is not finite"
    assert (np.diff(y, axis=1) >= 0).all(), "quantiles fall"
    lower, upper = dist.interval(np.linspace(0.02, 0.98, 25))
    draws = dist.sample(50, random_state=0)
    assert np.isfinite(draws).all()
    assert (np.diff(lower, axis=1) <= 0).all(), "lower ends do not nest"
    assert (np.diff(upper, axis=1) >= 0).all(), "upper ends do not nest"
    assert (lower <= upper).all(), "an interval is the wrong way round"
    # y is exact to a few roundings; over an atom, which is that wide at most, the CDF jumps.
    hair = 16.0 * np.spacing(np.abs(y).max(axis=1, keepdims=True))
    below, above = dist.cdf(y - hair), dist.cdf(y + hair)
    slack = 1e-9 * np.minimum(q, 1.0 - q) + 2e-16
    assert (above >= q - slack).all(), "cdf(ppf(q)) < q"
    assert (below <= q + slack).all(), "a smaller y has cdf(y) >= q"


def check_order_of_rows(recalibrator: tl.Recalibrator, rows: Rows, new: Rows) -> None:
    """The order of calibration rows changes nothing, not even the last bit."""
    order = np.random.default_rng(5).permutation(len(rows.y))
    once = outline(fitted(recalibrator, rows), new)
    assert_same(outline(fitted(recalibrator, rows.take(order)), new), once, "shuffled rows")
    weight = np.random.default_rng(6).uniform(0.1, 3.0, len(rows.y))
    once = outline(fitted(recalibrator, rows, weight), new)
    again = outline(fitted(recalibrator, rows.take(order), weight[order]), new)
    assert_same(again, once, "shuffled weighted rows", rtol=1e-12)


def check_weights(recalibrator: tl.Recalibrator, rows: Rows, new: Rows) -> None:
    """A weight of k is k rows, of 0 none, and of 1 what it is without weights."""
    n = len(rows.y)
    weight = np.random.default_rng(2).integers(0, 4, size=n)
    repeated = rows.take(np.repeat(np.arange(n), weight))
    weighted = outline(fitted(recalibrator, rows, weight), new)
    assert_same(weighted, outline(fitted(recalibrator, repeated), new), "weights as repeats")
    some = rows.take(weight > 0)
    assert_same(
        weighted, outline(fitted(recalibrator, some, weight[weight > 0]), new), "weights of zero"
    )
    ones = outline(fitted(recalibrator, rows, np.ones(n)), new)
    assert_same(ones, outline(fitted(recalibrator, rows), new), "weights of one")


def check_merge(recalibrator: tl.Recalibrator, rows: Rows, new: Rows) -> None:
    """Merged maps are the map of all rows, in any order, however they were split."""
    n = len(rows.y)
    whole = outline(fitted(recalibrator, rows), new)
    for first in (np.arange(n) < 1, np.arange(n) % 3 == 0, rows.groups == "a", rows.y > 0):
        one, two = (fitted(recalibrator, rows.take(part)) for part in (first, ~first))
        assert_same(outline(one.merge(two), new), whole, "a merge of two")
        assert_same(outline(two.merge(one), new), whole, "a merge the other way round")
    one, two, three = (fitted(recalibrator, rows.take(np.arange(n) % 3 == k)) for k in range(3))
    states = [part.to_json() for part in (one, two, three)]
    assert_same(outline(one.merge(two).merge(three), new), whole, "(a + b) + c")
    assert_same(outline(one.merge(two.merge(three)), new), whole, "a + (b + c)")
    assert states == [part.to_json() for part in (one, two, three)], "merge changes its parts"
    weight = np.random.default_rng(3).uniform(0.1, 3.0, n)
    parts = [
        fitted(recalibrator, rows.take(part), weight[part]) for part in (rows.y > 0, rows.y <= 0)
    ]
    weighted = outline(fitted(recalibrator, rows, weight), new)
    assert_same(outline(parts[0].merge(parts[1]), new), weighted, "weighted", rtol=1e-12)
    twice = fitted(recalibrator, rows.take(np.tile(np.arange(n), 2)))
    double = fitted(recalibrator, rows).merge(fitted(recalibrator, rows))
    assert_same(outline(double, new), outline(twice, new), "a merge with itself")


def check_compress(recalibrator: tl.Recalibrator, base: Forecast, new: Rows) -> None:
    """A smaller state is as good as it says, and better the more it keeps."""
    rows = make_rows(base, 300, seed=4)
    fit = fitted(recalibrator, rows)
    assert fit.compression_error_ == 0.0
    assert_same(outline(fit.compress(300), new), outline(fit, new), "nothing to compress")
    state = fit.to_json()
    smaller = {k: fit.compress(k) for k in (2, 8, 32, 90)}
    errors = [part.compression_error_ for part in smaller.values()]
    assert fit.to_json() == state, "compress changes the map"
    assert 1.0 >= errors[0] > errors[1] > errors[2] > errors[3] > 0.0, f"errors are {errors}"
    assert len(smaller[8].to_json()) < len(smaller[90].to_json()) < len(state)
    for part in smaller.values():
        assert not any(np.isnan(v).any() for v in outline(part, new).values())
    again = smaller[90].compress(32)
    assert again.compression_error_ >= smaller[90].compression_error_
    both = smaller[90].merge(fit)
    assert 0.0 < both.compression_error_ < errors[2]
    assert not any(np.isnan(v).any() for v in outline(both, new).values())


def check_copies(recalibrator: tl.Recalibrator, rows: Rows, new: Rows) -> None:
    """JSON and pickle give back the same map, to the last bit; clone gives a blank one."""
    from sklearn.base import clone

    weight = np.random.default_rng(7).uniform(0.1, 3.0, len(rows.y))
    for fit in (
        fitted(recalibrator, rows),
        fitted(recalibrator, rows, weight),
        fitted(recalibrator, rows).compress(10),
    ):
        once = outline(fit, new)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "map.json"
            text = fit.to_json(path)
            assert path.read_text(encoding="utf-8") == text
            assert [p.name for p in path.parent.iterdir()] == ["map.json"]
            loaded = tl.load(path)
        assert type(loaded) is type(fit)
        assert repr(loaded) == repr(fit)
        assert loaded.to_json() == text
        assert loaded.compression_error_ == fit.compression_error_
        assert_same(outline(loaded, new), once, "JSON")
        assert_same(outline(loaded.merge(fit), new), outline(fit.merge(fit), new), "merge of JSON")
        assert_same(outline(pickle.loads(pickle.dumps(fit)), new), once, "pickle")
        check_unfitted(clone(fit), rows)


def check_recalibrated_again(recalibrator: tl.Recalibrator, rows: Rows, new: Rows) -> None:
    """A recalibrated forecast keeps its score, so that it can be recalibrated like its base."""
    fit = fitted(recalibrator, rows)
    again = fitted(recalibrator, rows._replace(dist=transformed(fit, rows)))
    once = outline(fit, new)
    assert_same(outline(again, new), once, "fitted on recalibrated forecasts")
    recalibrated = new._replace(dist=transformed(fit, new))
    assert_same(outline(fit, recalibrated), once, "transformed twice")
    np.testing.assert_array_equal(recalibrated.dist.score(new.y), new.dist.score(new.y))


def check_few_rows_and_ties(recalibrator: tl.Recalibrator, base: Forecast) -> None:
    """However little or odd the data, every result is a number and every quantile finite."""
    ten, new = make_rows(base, 10, seed=8), make_rows(base, 2, seed=9)
    first = np.zeros(10, dtype=int)
    centre = ten.dist.unscore(0.0)
    cases = {
        "1 row": ten.take([0]),
        "2 rows": ten.take(slice(2)),
        "3 rows": ten.take(slice(3)),
        "10 rows": ten,
        "1 row, score 0": ten._replace(y=centre).take([0]),
        "all tied": ten.take(first),
        "all tied at score 0": ten._replace(y=centre).take(first),
        "half tied": ten.take(np.maximum(np.arange(10) - 5, 0)),
        "two values": ten.take(np.arange(10) % 2),
        "y identical": ten._replace(y=np.full(10, 2.0)),
    }
    for name, rows in cases.items():
        fit = fitted(recalibrator, rows)
        seen = np.unique(rows.groups)
        known = new._replace(groups=np.resize(seen, len(new.y)))
        # At a value that was seen as well, with its own forecast: that is where the atoms are.
        at = known._replace(dist=rows.dist[[0, 0]], y=np.array([rows.y[0], new.y[1]]))
        values = everything(transformed(fit, at), at.y)
        for what, value in values.items():
            assert not np.isnan(value).any(), f"{what} is NaN with {name}"
            if what not in ("logcdf", "logsf", "logpdf"):
                assert np.isfinite(value).all(), f"{what} is infinite with {name}"
        assert (np.diff(values["ppf"], axis=1) >= 0).all(), f"quantiles fall with {name}"
        assert (values["var"] > 0).all(), f"no spread with {name}"
        assert not any(np.isnan(v).any() for v in outline(fit, known).values())
