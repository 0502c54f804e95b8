"""What every calibrated regressor must do, whatever it is made of."""
# ruff: noqa: S101 -- to assert is all that a check does

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np

from trueline._validation import CalibrationWarning, FloatArray

_LEVELS = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
_COVERAGES = np.array([0.2, 0.5, 0.8])


def check_estimator(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    groups: Any = None,
    weights_repeat: bool = False,
) -> None:
    """Check what a regressor with calibrated forecasts promises.

    scikit-learn's check of the same name looks at none of it: quantiles rise in the level and
    agree with `predict_dist`, intervals nest, cdf(ppf(q)) = q, rows of the results follow rows
    of X, a second fit forgets the first, `clone` and `pickle` keep everything, inputs are left
    alone, and a fit repeats.

    Parameters
    ----------
    estimator : regressor
        With ``fit``, ``predict``, ``predict_dist``, ``predict_interval`` and
        ``predict_quantiles``, as `CalibratedRegressor` has them, and a fixed ``random_state``
        if it needs one. It is not fitted: copies are.
    X, y : (n, d) and (n,) arrays, optional
        Rows to fit on, at least 30; 120 made ones by default.
    groups : (n,) array, optional
        Passed to ``fit`` and to everything that predicts.
    weights_repeat : bool, default False
        Check also that a weight of k is k rows. It holds where no row is drawn or split off,
        as around a `FrozenEstimator`.

    Raises
    ------
    AssertionError
        At the first promise that is broken, saying which.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> import trueline as tl
    >>> from trueline.testing import check_estimator
    >>> check_estimator(tl.CalibratedRegressor(BayesianRidge(), random_state=0))
    """
    if X is None:
        X, y = _made_rows()
    case = _Case(estimator, np.asarray(X), np.asarray(y), groups)
    with warnings.catch_warnings():
        # So few rows cannot support every level, and that is not what is checked.
        warnings.simplefilter("ignore", CalibrationWarning)
        fitted = case.fit()
        check_quantiles(fitted, case)
        check_intervals(fitted, case)
        check_distribution_of_rows(fitted, case)
        check_rows(fitted, case)
        check_refit(fitted, case)
        check_copies(fitted, case)
        check_inputs_are_left_alone(case)
        if weights_repeat:
            check_weights(case)


class _Case:
    """An estimator with rows to fit it on."""

    def __init__(self, estimator: Any, X: Any, y: Any, groups: Any) -> None:
        self.estimator = estimator
        self.X = X
        self.y = y
        self.groups = None if groups is None else np.asarray(groups)

    def of(self, rows: Any) -> dict[str, Any]:
        """Groups of some rows, as a keyword where there are any."""
        return {} if self.groups is None else {"groups": self.groups[rows]}

    def fit(self, rows: Any = slice(None), sample_weight: Any = None, model: Any = None) -> Any:
        """Fit a copy, or a model that is given."""
        from sklearn.base import clone

        model = clone(self.estimator) if model is None else model
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        return model.fit(self.X[rows], self.y[rows], **self.of(rows), **more)

    def outline(self, fitted: Any, rows: Any = slice(None)) -> FloatArray:
        """All that is predicted of some rows, (n, m)."""
        dist = fitted.predict_dist(self.X[rows], **self.of(rows))
        # Not by quantiles, which cost a search in every row of a mixture.
        values = np.quantile(self.y, _LEVELS)[None, :]
        columns = [dist.mean(), dist.std(), *dist.cdf(values).T]
        return np.stack([fitted.predict(self.X[rows], **self.of(rows)), *columns], axis=1)


def _made_rows() -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    return X, X @ [2.0, -1.0, 0.0] + np.exp(0.5 * X[:, 2]) * rng.normal(size=120)


# ---- one promise each ------------------------------------------------------------------


def check_quantiles(fitted: Any, case: _Case) -> None:
    """Quantiles rise in the level, are finite, and are those of the forecasts."""
    groups = case.of(slice(None))
    values = fitted.predict_quantiles(case.X, _LEVELS, **groups)
    assert values.shape == (len(case.X), len(_LEVELS)), f"quantiles have shape {values.shape}"
    assert np.isfinite(values).all(), "a quantile is not finite"
    assert (np.diff(values, axis=1) >= 0).all(), "a quantile falls as its level rises"
    np.testing.assert_array_equal(values, fitted.predict_dist(case.X, **groups).ppf(_LEVELS))


def check_intervals(fitted: Any, case: _Case) -> None:
    """Intervals nest and end at their quantiles."""
    groups = case.of(slice(None))
    ends = [fitted.predict_interval(case.X, c, **groups) for c in _COVERAGES]
    lower, upper = (np.stack([pair[i] for pair in ends], axis=1) for i in (0, 1))
    assert lower.shape == (len(case.X), len(_COVERAGES)), "an interval is not one pair a row"
    assert (lower <= upper).all(), "an interval is upside down"
    assert (np.diff(lower, axis=1) <= 0).all(), "intervals do not nest"
    assert (np.diff(upper, axis=1) >= 0).all(), "intervals do not nest"
    levels = 0.5 * (1.0 - _COVERAGES)
    np.testing.assert_allclose(
        lower, fitted.predict_quantiles(case.X, levels, **groups), rtol=1e-12, atol=1e-300
    )


def check_distribution_of_rows(fitted: Any, case: _Case) -> None:
    """cdf(ppf(q)) = q where there is no atom, and `predict` is the mean."""
    groups = case.of(slice(None))
    dist = fitted.predict_dist(case.X, **groups)
    assert len(dist) == len(case.X), f"{len(dist)} forecasts of {len(case.X)} rows"
    y = dist.ppf(_LEVELS)
    hair = 1e-9 * np.maximum(np.abs(y).max(axis=1, keepdims=True), dist.std()[:, None])
    below, above = dist.cdf(y - hair), dist.cdf(y + hair)
    assert (below <= _LEVELS + 1e-9).all(), "a smaller value has cdf(y) >= q"
    assert (above >= _LEVELS - 1e-9).all(), "cdf(ppf(q)) < q"
    smooth = above - below < 1e-4
    np.testing.assert_allclose(
        dist.cdf(y)[smooth], np.broadcast_to(_LEVELS, y.shape)[smooth], atol=1e-6
    )
    np.testing.assert_array_equal(fitted.predict(case.X, **groups), dist.mean())


def check_rows(fitted: Any, case: _Case) -> None:
    """A row's forecast is its own, whatever rows stand beside it."""
    whole = case.outline(fitted)
    n = len(case.X)
    for rows in (np.random.default_rng(0).permutation(n), np.arange(n // 3), np.array([n - 1])):
        _same(case.outline(fitted, rows), whole[rows], "rows do not follow X")


def check_refit(fitted: Any, case: _Case) -> None:
    """A fit repeats, and forgets what came before it."""
    whole = case.outline(fitted)
    _same(case.outline(case.fit()), whole, "a second fit on the same rows differs")
    half = case.fit(np.arange(len(case.X)) % 2 == 0)
    _same(case.outline(case.fit(model=half)), whole, "a fit remembers an earlier one")


def check_copies(fitted: Any, case: _Case) -> None:
    """`pickle` keeps what was learned; `clone` keeps the parameters alone."""
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError

    whole = case.outline(fitted)
    _same(case.outline(pickle.loads(pickle.dumps(fitted))), whole, "pickle")  # noqa: S301
    blank = clone(fitted)
    assert repr(blank) == repr(clone(case.estimator)), "clone changes a parameter"
    try:
        blank.predict(case.X, **case.of(slice(None)))
    except NotFittedError:
        pass
    else:
        raise AssertionError("a clone is fitted")
    deep = {name: repr(value) for name, value in blank.get_params().items()}
    blank.set_params(**blank.get_params())
    again = {name: repr(value) for name, value in blank.get_params().items()}
    assert deep == again, "set_params does not take what get_params gives"
    _same(case.outline(case.fit(model=blank)), whole, "a clone fits otherwise")


def check_inputs_are_left_alone(case: _Case) -> None:
    """Nothing that comes in is written to."""
    weight = np.ones(len(case.y))
    given = [case.X, case.y, weight, *([] if case.groups is None else [case.groups])]
    before = [a.copy() for a in given]
    params = {name: repr(value) for name, value in case.estimator.get_params().items()}
    fitted = case.fit(sample_weight=weight)
    case.outline(fitted)
    for a, b in zip(given, before, strict=True):
        np.testing.assert_array_equal(a, b, err_msg="an input was changed")
    after = {name: repr(value) for name, value in case.estimator.get_params().items()}
    assert after == params, "fit changes a parameter"


def check_weights(case: _Case) -> None:
    """A weight of k is k rows, and of 0 none."""
    n = len(case.y)
    weight = np.random.default_rng(1).integers(0, 4, size=n).astype(float)
    weighted = case.outline(case.fit(sample_weight=weight))
    rows = np.repeat(np.arange(n), weight.astype(int))
    _same(weighted, case.outline(case.fit(rows)), "a weight of k is not k rows")


def _same(a: FloatArray, b: FloatArray, message: str) -> None:
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9 * float(np.abs(b).max()), err_msg=message)
