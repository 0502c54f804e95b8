"""One model per level, as quantile regression is in most libraries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import delayed
from sklearn.utils.validation import check_is_fitted

from trueline._progress import show_steps
from trueline._validation import FloatArray, increasing_levels
from trueline.distributions import Distribution, Quantiles
from trueline.estimators._checks import check_verbose, inherited, learns
from trueline.estimators._crossfit import run_jobs
from trueline.estimators._frames import check_columns, column_names, take_features
from trueline.interop._quantile_models import level_parameter, point_prediction, trained_levels

# Each level is a fit, in every fold.
_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


class PerLevel(RegressorMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Quantile models, one per level, as one regressor with its own forecasts.

    A model of LightGBM, or scikit-learn's boosted trees with ``loss="quantile"``, is trained for
    one quantile, which does not describe the spread. This class trains one model for each of
    several levels, and `CalibratedRegressor` reads them as one forecast. Quantiles that cross are
    sorted.

    Parameters
    ----------
    estimator : regressor or dict {level: regressor}
        With a quantile loss; copies are trained, one per level. A dict holds a regressor for
        each level, which may differ in other parameters. For trained models see `from_fitted`.
    levels : (m,) array-like, optional
        At least two, in (0, 1), increasing. By default 0.05, 0.25, 0.5, 0.75 and 0.95, or the
        keys of a dict.
    parameter : str, default "auto"
        Name of the regressor's parameter that holds the level. It is known for LightGBM, XGBoost,
        CatBoost, scikit-learn's regressors and pipelines that end in one.
    n_jobs : int, optional
        Number of levels to fit at a time, as in joblib.
    verbose : int, default 0
        Whether to show the progress of ``fit`` on the standard error: 1 shows each level and about
        how long the rest takes, 2 adds times.

    Attributes
    ----------
    estimators_ : list of regressors
        The fitted models, one per level.
    levels_ : ndarray, (m,)
        Their levels, increasing.
    n_features_in_ : int
        Number of features, if the models have it.
    feature_names_in_ : ndarray
        Their names, if the models have them.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import GradientBoostingRegressor
    >>> import trueline as tl
    >>> from trueline.estimators import PerLevel
    >>> X, y = load_diabetes(return_X_y=True)
    >>> boosting = GradientBoostingRegressor(loss="quantile", n_estimators=20, random_state=0)
    >>> model = PerLevel(boosting, levels=[0.1, 0.5, 0.9]).fit(X[:300], y[:300])
    >>> model.predict_dist(X[300:302]).ppf([0.1, 0.9]).round()
    array([[108., 285.],
           [ 57., 204.]])

    It is calibrated as any other regressor:

    >>> calibrated = tl.CalibratedRegressor(PerLevel(boosting), cv=2, random_state=0)
    >>> lower, upper = calibrated.fit(X[:300], y[:300]).predict_interval(X[300:], 0.8)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        levels: ArrayLike | None = None,
        parameter: str = "auto",
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.levels = levels
        self.parameter = parameter
        self.n_jobs = n_jobs
        self.verbose = verbose

    @classmethod
    def from_fitted(cls, models: Mapping[float, Any]) -> Self:
        """Return one regressor from models that are already trained.

        Wrap it in `sklearn.frozen.FrozenEstimator` to calibrate it as it is.

        Parameters
        ----------
        models : dict {level: fitted regressor}
            At least two.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.frozen import FrozenEstimator
        >>> from sklearn.linear_model import QuantileRegressor
        >>> import trueline as tl
        >>> from trueline.estimators import PerLevel
        >>> rng = np.random.default_rng(0)
        >>> X = rng.uniform(size=(400, 1))
        >>> y = X[:, 0] + rng.exponential(size=400)
        >>> old, new = slice(0, 200), slice(200, 400)
        >>> low, high = (
        ...     QuantileRegressor(quantile=q, alpha=0.0).fit(X[old], y[old]) for q in (0.2, 0.8)
        ... )
        >>> trained = FrozenEstimator(PerLevel.from_fitted({0.2: low, 0.8: high}))
        >>> model = tl.CalibratedRegressor(trained).fit(X[new], y[new])
        >>> [bound.round(1) for bound in model.predict_interval([[0.5]], 0.8)]
        [array([0.6]), array([2.8])]
        """
        if not isinstance(models, Mapping):
            raise TypeError(
                f"models is a {type(models).__name__}; expected a dict {{level: fitted regressor}},"
                f" such as PerLevel.from_fitted({{0.05: low, 0.5: middle, 0.95: high}})."
            )
        model = cls(dict(models))
        trained, model.levels_ = model._untrained()
        for level, one in zip(model.levels_.tolist(), trained, strict=True):
            if isinstance(one, type) or not learns(one):
                raise TypeError(
                    f"the model of level {level:g} is {_described(one)}; expected a fitted "
                    f"regressor, an object with fit and predict, such as LGBMRegressor(...)"
                    f".fit(X, y) rather than the booster inside it."
                )
            check_is_fitted(one)
        return model._of(trained)

    def fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Fit one copy per level.

        Parameters
        ----------
        X : (n, d) array-like
        y : (n,) array-like
        sample_weight : (n,) array-like, optional
        **fit_params : dict
            For the ``fit`` of every copy.
        """
        untrained, levels = self._untrained()
        if sample_weight is not None:
            fit_params["sample_weight"] = sample_weight
        check_verbose(self.verbose)
        jobs = [delayed(_fitted)(one, X, y, fit_params) for one in untrained]
        names = [f"fitting level {level:g}" for level in levels.tolist()]
        with show_steps(type(self).__name__, self.verbose) as steps:
            steps.expect(fits=len(jobs))
            models = run_jobs(jobs, names, [1.0] * len(jobs), self.n_jobs, steps)
        self.levels_ = levels
        self._column_names = column_names(X)
        return self._of(models)

    def _untrained(self) -> tuple[list[Any], FloatArray]:
        """Return the unfitted regressors and their levels."""
        if not isinstance(self.estimator, Mapping):
            levels = _checked(_LEVELS if self.levels is None else self.levels)
            return [_at_level(self.estimator, q, self.parameter) for q in levels.tolist()], levels
        if self.levels is not None:
            raise ValueError(
                f"levels is {self.levels!r}, but estimator is a dict, whose keys are the levels. "
                f"Leave levels out."
            )
        by_level = {float(level): one for level, one in self.estimator.items()}
        levels = _checked(sorted(by_level))
        return [by_level[q] for q in levels.tolist()], levels

    def _of(self, models: Sequence[Any]) -> Self:
        """Keep fitted models, after a check of their levels."""
        for level, model in zip(self.levels_.tolist(), models, strict=True):
            last = model[-1] if isinstance(model, Pipeline) else model
            known = trained_levels(last)
            # XGBoost keeps its levels in single precision.
            if known is not None and not (len(known) == 1 and np.isclose(known[0], level, 1e-6)):
                what = f"the {known[0]:g} quantile" if known else "another loss"
                raise ValueError(
                    f"the {type(last).__name__} of level {level:g} was trained for {what}. Choose "
                    f'its quantile loss, such as objective="quantile" of LightGBM, '
                    f'"reg:quantileerror" of XGBoost, or loss="quantile" of scikit-learn.'
                )
        self.estimators_ = list(models)
        take_features(self, models[0])
        return self

    def predict_dist(self, X: Any) -> Distribution:
        """Return the forecasts of the rows of X, an array-like of shape (n, d)."""
        check_is_fitted(self)
        check_columns(self.estimators_[0], getattr(self, "_column_names", None), X)
        columns = [point_prediction(model, X) for model in self.estimators_]
        return Quantiles(self.levels_, np.sort(np.stack(columns), axis=0).T)

    def predict(self, X: Any) -> FloatArray:
        """Return the medians of the forecasts of `predict_dist`, (n,)."""
        return self.predict_dist(X).median()

    def __sklearn_tags__(self) -> Any:
        one = self.estimator
        if isinstance(one, Mapping):
            one = next(iter(one.values()), None)
        return inherited(super().__sklearn_tags__(), one)


def _described(model: Any) -> str:
    if isinstance(model, type):
        return f"the class {model.__name__}"
    kind = type(model)
    return f"a {kind.__name__} of {kind.__module__.partition('.')[0]}"


def _checked(levels: ArrayLike) -> FloatArray:
    a = increasing_levels(levels, "levels")
    if len(a) < 2:
        raise ValueError(
            f"levels holds {len(a)} level; expected at least 2, because one quantile does not "
            f"describe the spread."
        )
    return a


def _at_level(estimator: Any, level: float, parameter: str) -> Any:
    name = _parameter(estimator) if parameter == "auto" else parameter
    loss = name.rpartition("__")[2] == "loss_function"
    return clone(estimator).set_params(**{name: f"Quantile:alpha={level!r}" if loss else level})


def _parameter(estimator: Any) -> str:
    """Return the name of the parameter that holds a regressor's level."""
    if isinstance(estimator, Pipeline):
        return f"{estimator.steps[-1][0]}__{_parameter(estimator[-1])}"
    name = level_parameter(estimator)
    if name is not None:
        return name
    raise ValueError(
        f"estimator is {estimator!r}, whose parameter for the level is not known. Pass its name, "
        f'such as parameter="alpha", or a dict {{level: regressor}}.'
    )


def _fitted(estimator: Any, X: Any, y: Any, fit_params: dict[str, Any]) -> Any:
    return clone(estimator).fit(X, y, **fit_params)
