"""Checks of what every calibrated regressor must do."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from trueline._validation import CalibrationWarning, FloatArray
from trueline.recalibration import Recalibrator
from trueline.testing._require import (
    description,
    error_of,
    require,
    require_all,
    require_equal,
    require_inverse,
    require_nested,
    require_quantiles,
    require_same,
)

_LEVELS = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
_COVERAGES = np.array([0.2, 0.5, 0.8])
_FOLDS = 3


def check_estimator(
    estimator: Any,
    X: Any = None,
    y: Any = None,
    *,
    groups: Any = None,
    weights_repeat: bool = False,
) -> None:
    """Check that a regressor with calibrated forecasts keeps its promises.

    The function of the same name in scikit-learn has none of these checks:

    - quantiles are finite, rise in the level, and are those of `predict_dist`;
    - intervals nest and end at their quantiles;
    - cdf(ppf(q)) = q where there is no atom, and `predict` is the mean;
    - no row of the results depends on other rows of X;
    - a fit repeats, and does not depend on an earlier fit;
    - `pickle` keeps the fitted model, `clone` only the parameters;
    - ``get_params``, ``set_params`` and `clone` reach a recalibrator among the parameters;
    - inputs and parameters are not changed, and a recalibrator parameter is not fitted;
    - sample weights have an effect, and with `weights_repeat` a row equals copies of it that
      share its weight.

    Parameters
    ----------
    estimator : regressor
        A regressor with ``fit``, ``predict``, ``predict_dist``, ``predict_interval`` and
        ``predict_quantiles``, as in `CalibratedRegressor`, and with a fixed ``random_state`` if it
        draws random numbers. Copies are fitted.
    X, y : (n, d) and (n,) arrays, optional
        Rows to fit on, at least 30; by default 120 simulated rows.
    groups : (n,) array, optional
        Groups passed to ``fit`` and to all predictions.
    weights_repeat : bool, default False
        Whether to check also that a row equals copies of it that share its weight, and a row of
        weight 0 no row, for the whole estimator. A parameter ``cv`` that is not a string is set to
        folds that keep copies of a row together. This holds if it holds for the wrapped estimator
        and nothing is drawn at random: for least squares or a `FrozenEstimator`, without a learned
        scale. The weights are below 1, because a row with a larger weight counts as one row in
        the guarantees of a map.

    Raises
    ------
    AssertionError
        At the first check that fails, with the numbers found.

    Examples
    --------
    >>> from sklearn.linear_model import BayesianRidge
    >>> import trueline as tl
    >>> model = tl.CalibratedRegressor(BayesianRidge(), scale_estimator=None, random_state=0)
    >>> tl.testing.check_estimator(model)

    Without a seed, every fit has different folds:

    >>> tl.testing.check_estimator(model.set_params(random_state=None))
    Traceback (most recent call last):
        ...
    AssertionError: a second fit on the same rows differs: ...
    """
    if X is None:
        X, y = _simulated_rows()
    case = _Case(estimator, X, y, groups)
    # The rows are too few for extreme levels, which is not the subject of the checks.
    with warnings.catch_warnings(action="ignore", category=CalibrationWarning):
        weighted = check_inputs_are_left_alone(case)
        fitted = case.fit()
        check_quantiles(fitted, case)
        check_intervals(fitted, case)
        check_distribution_of_rows(fitted, case)
        check_rows(fitted, case)
        check_refit(fitted, case)
        check_copies(fitted, case)
        check_recalibrator_is_reached(case)
        check_weights_count(fitted, weighted, case)
        if weights_repeat:
            check_weights_repeat(case)


class _Case:
    """An estimator with rows to fit it on."""

    def __init__(self, estimator: Any, X: Any, y: Any, groups: Any) -> None:
        self.estimator = estimator
        # Copies, because a wrong estimator may write to them.
        self.X = np.array(X)
        self.y = np.array(y)
        self.groups = None if groups is None else np.array(groups)
        self.weight = np.random.default_rng(1).integers(0, 4, size=len(self.y)).astype(float)

    def of(self, rows: Any = slice(None)) -> dict[str, Any]:
        """Return the groups of some rows as a keyword argument, if there are groups."""
        return {} if self.groups is None else {"groups": self.groups[rows]}

    def fit(self, rows: Any = slice(None), sample_weight: Any = None, model: Any = None) -> Any:
        """Fit a copy, or this model."""
        model = clone(self.estimator) if model is None else model
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        return model.fit(self.X[rows], self.y[rows], **self.of(rows), **more)

    def with_folds(self, rows: Any) -> Any:
        """Return a copy with folds that keep repeats of a row together."""
        model = clone(self.estimator)
        cv = model.get_params(deep=False).get("cv")
        if cv is None or isinstance(cv, str):
            return model
        fold = rows % _FOLDS
        splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(_FOLDS)]
        return model.set_params(cv=splits)

    def outline(self, fitted: Any, rows: Any = slice(None)) -> FloatArray:
        """Return predictions of some rows that tell any two models apart, (n, m)."""
        dist = fitted.predict_dist(self.X[rows], **self.of(rows))
        # Quantiles are left out: they need a search in every row of a mixture.
        values = np.quantile(self.y, _LEVELS)[None, :]
        columns = [dist.mean(), dist.std(), *dist.cdf(values).T]
        return np.stack([fitted.predict(self.X[rows], **self.of(rows)), *columns], axis=1)


def _simulated_rows() -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    return X, X @ [2.0, -1.0, 0.0] + np.exp(0.5 * X[:, 2]) * rng.normal(size=120)


# ---- one function per promise ----------------------------------------------------------


def check_inputs_are_left_alone(case: _Case) -> Any:
    """No argument is changed; returns a model that is fitted with weights."""
    given = {"X": case.X, "y": case.y, "sample_weight": case.weight, **case.of()}
    before = {name: a.copy() for name, a in given.items()}
    model = clone(case.estimator)
    params = _described(model)
    fitted = case.fit(sample_weight=case.weight, model=model)
    require(fitted is model, "fit does not return self")
    case.outline(fitted)
    for name, a in given.items():
        b = before[name]
        kept = (a == b) | ((a != a) & (b != b))  # noqa: PLR0124  # NaN differs from itself
        require_all(kept, f"fit or predict changes {name}", before=b, after=a)
    for name, part in _recalibrators(model).items():
        fault = f"fit fits the recalibrator that was given as {name}; expected a copy to be fitted"
        require(not part._is_fitted(), fault)
    after = _described(model)
    for name, text in params.items():
        require(after[name] == text, f"fit changes {name} from {text} to {after[name]}")
    return fitted


def _described(estimator: Any) -> dict[str, str]:
    """Return the parameters as text."""
    return {name: description(value) for name, value in estimator.get_params().items()}


def _recalibrators(estimator: Any) -> dict[str, Recalibrator]:
    """Return the parameters that are recalibrators."""
    params = estimator.get_params(deep=False)
    return {name: part for name, part in params.items() if isinstance(part, Recalibrator)}


def check_quantiles(fitted: Any, case: _Case) -> None:
    """Quantiles rise in the level, are finite, and agree with the forecasts."""
    values = np.asarray(fitted.predict_quantiles(case.X, _LEVELS, **case.of()))
    require_equal(values.shape, (len(case.X), len(_LEVELS)), "quantiles have shape")
    require_quantiles(_LEVELS, values)
    expected = fitted.predict_dist(case.X, **case.of()).ppf(_LEVELS)
    require_same(values, expected, "quantiles are not those of predict_dist")


def check_intervals(fitted: Any, case: _Case) -> None:
    """Intervals nest and end at their quantiles."""
    pairs = [fitted.predict_interval(case.X, c, **case.of()) for c in _COVERAGES]
    for end in (end for pair in pairs for end in pair):
        require_equal(np.shape(end), (len(case.X),), "an end of an interval has shape")
    lower, upper = (np.stack(ends, axis=1) for ends in zip(*pairs, strict=True))
    require_nested(_COVERAGES, lower, upper)
    tail = 0.5 * (1.0 - _COVERAGES)
    for found, levels in ((lower, tail), (upper, 1.0 - tail)):
        expected = fitted.predict_quantiles(case.X, levels, **case.of())
        fault = "an interval does not end at its quantiles"
        require_same(found, expected, fault, rtol=1e-12, atol=1e-14 * float(np.abs(expected).max()))


def check_distribution_of_rows(fitted: Any, case: _Case) -> None:
    """cdf(ppf(q)) = q where there is no atom, and `predict` is the mean."""
    dist = fitted.predict_dist(case.X, **case.of())
    y = dist.ppf(_LEVELS)
    hair = 1e-9 * np.maximum(np.abs(y).max(axis=1, keepdims=True), dist.std()[:, None])
    require_inverse(dist, _LEVELS, y, hair, slack=1e-9)
    found = fitted.predict(case.X, **case.of())
    require_same(found, dist.mean(), "predict is not the mean of predict_dist")


def check_rows(fitted: Any, case: _Case) -> None:
    """The forecast of a row does not depend on other rows."""
    whole = case.outline(fitted)
    n = len(case.X)
    for rows in (np.random.default_rng(0).permutation(n), np.arange(n // 3), np.array([n - 1])):
        _require_same(case.outline(fitted, rows), whole[rows], "rows do not follow X")


def check_refit(fitted: Any, case: _Case) -> None:
    """A fit repeats, and does not depend on an earlier fit."""
    whole = case.outline(fitted)
    _require_same(case.outline(case.fit()), whole, "a second fit on the same rows differs")
    half = case.fit(np.arange(len(case.X)) % 2 == 0)
    _require_same(case.outline(case.fit(model=half)), whole, "a fit remembers an earlier one")


def check_copies(fitted: Any, case: _Case) -> None:
    """`pickle` keeps the fitted model; `clone` keeps only the parameters."""
    whole = case.outline(fitted)
    twin = pickle.loads(pickle.dumps(fitted))  # noqa: S301  # written on this line
    _require_same(case.outline(twin), whole, "pickle gives back another model")
    blank = clone(fitted)
    fault = f"clone makes {blank!r} of {case.estimator!r}"
    require(description(blank) == description(clone(case.estimator)), fault)
    error = error_of(lambda: blank.predict(case.X, **case.of()))
    fault = f"a clone is fitted, or says otherwise than by NotFittedError: {error!r}"
    require(isinstance(error, NotFittedError), fault)
    before = _described(blank)
    blank.set_params(**blank.get_params())
    after = _described(blank)
    fault = f"set_params does not take what get_params gives: {before} became {after}"
    require(before == after, fault)
    _require_same(case.outline(case.fit(model=blank)), whole, "a clone fits otherwise")


def check_recalibrator_is_reached(case: _Case) -> None:
    """`clone` copies a recalibrator among the parameters; `set_params` reaches inside it."""
    for name, part in _recalibrators(case.estimator).items():
        shared = _recalibrators(clone(case.estimator)).get(name) is part
        require(not shared, f"a clone shares its {name} with the original")
        for inner in part.get_params():
            twin, path, marker = clone(case.estimator), f"{name}__{inner}", object()
            require(path in twin.get_params(), f"get_params does not list {path}")
            twin.set_params(**{path: marker})
            reached = getattr(twin, name).get_params().get(inner) is marker
            require(reached, f"set_params({path}=...) does not reach the recalibrator")


def check_weights_count(fitted: Any, weighted: Any, case: _Case) -> None:
    """Sample weights change what is learned."""
    same = np.array_equal(case.outline(weighted), case.outline(fitted))
    require(not same, "sample_weight is ignored: weights of 0 to 3 change no forecast")


def check_weights_repeat(case: _Case) -> None:
    """A row equals copies of it that share its weight, and a row of weight 0 no row."""
    rows = np.arange(len(case.y))
    weighted = case.fit(sample_weight=0.25 * case.weight, model=case.with_folds(rows))
    rows = np.repeat(rows, case.weight.astype(int))
    shared = np.full(len(rows), 0.25)
    repeated = case.fit(rows, sample_weight=shared, model=case.with_folds(rows))
    fault = "a row is not as copies of it that share its weight"
    _require_same(case.outline(weighted), case.outline(repeated), fault)


def _require_same(found: FloatArray, expected: FloatArray, fault: str) -> None:
    atol = 1e-9 * float(np.abs(expected).max())
    require_same(found, expected, fault, rtol=1e-9, atol=atol)
