"""A regressor with calibrated forecasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import MetaEstimatorMixin, RegressorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import r2_score
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from trueline._labels import check_labels
from trueline._progress import show_steps
from trueline._validation import FloatArray, RandomState
from trueline.distributions import Distribution, Support, average
from trueline.estimators._adapt import Adaptable
from trueline.estimators._checks import (
    check_groups,
    check_params,
    check_rows,
    inherited,
    is_train,
    refuse_without_groups,
    warn_if_folds_are_small,
)
from trueline.estimators._choice import maps_of
from trueline.estimators._crossfit import CrossFitter, Forecaster
from trueline.estimators._fitting import (
    Data,
    route,
    seed_of,
    set_seeds,
    settle_support,
    transform,
)
from trueline.estimators._frames import (
    check_columns,
    check_columns_of_frozen,
    column_names,
    framed,
    in_order,
    take_features,
)
from trueline.estimators._learning import Learned, learn, learns_from_rows
from trueline.estimators._splits import make_splits
from trueline.interop import ForecastReader
from trueline.interop._readers import refuse_forecaster
from trueline.recalibration import Recalibrator


class CalibratedRegressor(RegressorMixin, MetaEstimatorMixin, Adaptable):  # type: ignore[misc]
    """A regressor whose intervals contain the outcome as often as they claim.

    The forecasts of the wrapped estimator on rows that it was not trained on are compared with
    the outcomes, and a recalibrator learns the map R between them (Algorithm 1 of the paper).
    The estimator's forecasts are read without configuration: its own ``predict_dist``, the
    distributions of NGBoost and skpro, the mean and variance of CatBoost's
    ``RMSEWithUncertainty``, the quantiles of XGBoost, CatBoost, quantile-forest, TabPFN and
    `PerLevel`, the standard deviation of ``predict(X, return_std=True)``, the spread of the
    members of a random forest, extra trees or bagging, or else its point predictions, which get
    the spread of their errors (section 3.4).

    Parameters
    ----------
    estimator : regressor
        The model, or a pipeline with it; copies of it are fitted. Wrap a model that is already
        trained in `sklearn.frozen.FrozenEstimator`: it is not changed, and all rows passed to
        ``fit`` calibrate. It must not be trained on them.
    method : str or Recalibrator, default "isotonic"
        "isotonic", "smooth", "beta", "scaling", "grouped", "idr", "conditional", an object, or
        "auto", which chooses, see ``choice_``.
    cv : int, splitter, iterable or "train", default 5
        How to split into rows to train and rows to calibrate on. An integer is a number of
        folds of shuffled rows, in which copies of a row stay together; use ``KFold(5)`` for folds
        of neighbours, ``TimeSeriesSplit()`` for rows in time and ``GroupKFold()`` for groups. All
        that is learned, a learned scale and `Conditional` too, respects the folds of a splitter:
        for the test rows of a split it is learned from rows that the split trains on. Rows in no
        test set do not calibrate. A row in k test sets counts as one row, and a learned scale and
        `Conditional` learn from its first forecast only. If cv is an integer and no rows are
        copies, a random forest of 50 trees or more is fitted once, and its trees forecast the rows
        that they did not draw. "train" calibrates on the training rows, as in the experiments of
        the paper, which is valid only for models that do not overfit. With a `FrozenEstimator` all
        rows calibrate, and the folds are those of a learned scale and of `Conditional`.
    ensemble : "auto" or bool, default "auto"
        What predicts. False refits the estimator on all rows; its map is fitted on the out-of-fold
        forecasts of all folds. True averages the CDFs of K models, each with the map of the rows it
        was not trained on, as a `Mixture`. "auto" refits, except for estimators whose fits differ
        much from each other, because no map fitted on other fits knows the refit. For those the
        CDFs of the K models are averaged, all with the same map, which is fitted on the out-of-fold
        forecasts of all folds (see ``results/table1/table1.md``). These are single
        networks: `trueline.models` (but not its deep ensembles), scikit-learn's ``MLPRegressor``,
        skorch, Keras and Lightning, in pipelines and searches too, and those with an attribute
        ``varies_between_fits`` that is true. If a fold trains on less than half of the rows, as
        those of ``TimeSeriesSplit``, "auto" refits.
    scale_estimator : "auto", regressor or None, default "auto"
        How the width of the forecasts depends on x. "auto" uses the estimator's own scale if it
        varies usefully, and otherwise learns one from absolute out-of-fold errors, except for
        `Conditional`, whose map depends on x itself. A regressor learns the width from these
        errors. None leaves the forecasts as they are. Width and map see the columns of X, and those
        that a pipeline makes of them before its last step (`docs/sklearn.md`, *Frames*).
    dist : callable (estimator, X) -> Distribution, optional
        Forecasts of a fitted estimator, in place of those that are read; it may return whatever
        `as_distribution` takes.
    shrinkage : bool, default True
        Whether to multiply the out-of-fold scores by ``shrinkage_``; False saves the fits that
        estimate it. The K-fold rule of the paper is ``ensemble=True, shrinkage=False,
        scale_estimator=None, support=None, method=Isotonic(finite_sample=False)``.
    support : "auto", "counts", Support or None, default "auto"
        The values that outcomes can take. "auto" learns from y whether outcomes have atoms: counts
        and ratings, or one end of their range that holds many rows. Forecasts then have atoms
        there, ``predict_dist(X).pmf(y)`` gives their mass, quantiles are values that can occur,
        and intervals of counts and ratings are the smallest sets of values with at least the
        coverage. None is for outcomes without atoms. A `method` with a support of its own keeps it.
    n_jobs : int, optional
        Number of folds to fit at a time, as in joblib. Networks of `trueline.models` are trained
        together instead, which is faster.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
        Seeds the shuffle of the folds, the learned scale, and every ``random_state`` of the
        estimator and of the recalibrator that is None.
    verbose : int, default 0
        Whether to show the progress of ``fit`` on the standard error. 1 shows each step and about
        how long the rest takes, as a bar on a terminal if rich is installed and otherwise as a
        line per step; 2 adds the time and the result of each step.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator; if folds are averaged, the list ``estimators_``, one per fold.
    recalibrator_ : Recalibrator
        The fitted map; with ``ensemble=True`` the list ``recalibrators_``.
    ensemble_ : bool
        Whether the models of the folds are averaged.
    choice_ : object
        With ``method="auto"`` the ``name`` of the method that was chosen, the ``crps`` of all
        candidates, and those that `calibration_test` ``rejected``. Candidates are "isotonic",
        "scaling", "beta", "smooth", "idr" and "conditional". They are compared on at most 3,000
        rows, by forecasts of models that have seen neither the rows that a map is fitted on nor
        those that judge it. A candidate replaces one before it in this list if its CRPS is lower
        by more than one standard error, unless `calibration_test` rejects it at 1%.
    scale_ : object
        The learned scale; None if there is none.
    shrinkage_ : float
        The factor of the out-of-fold scores, estimated by a few fits on still fewer rows; 1 if the
        folds do not allow that, from 50,000 rows on, or with ``shrinkage=False``.
    support_ : Support or None
        The support of the outcomes; None if they have no atoms.
    shift_ : ShiftWeights
        The shift that a model made by `adapt` follows.
    n_features_in_ : int
        Number of features, if the estimator has it.
    feature_names_in_ : ndarray
        Their names, if X or the estimator has names.

    Notes
    -----
    Put a pipeline inside, ``CalibratedRegressor(make_pipeline(scaler, model))``, not outside.

    With the defaults ``fit`` takes as long as 8 to 12 fits of the estimator: six for the folds and
    the refit, two or more on fewer rows for ``shrinkage_``, and a forest for the scale, which takes
    0.2 seconds for 1,000 rows and a second for 100,000. A random forest takes one to three fits.
    ``method="auto"`` takes up to eight fits more.

    References
    ----------
    Kuleshov, Fenner and Ermon, "Accurate Uncertainties for Deep Learning Using Calibrated
    Regression", ICML 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.model_selection import train_test_split
    >>> import trueline as tl
    >>> X, X_new, y, y_new = train_test_split(*load_diabetes(return_X_y=True), random_state=0)
    >>> model = tl.CalibratedRegressor(LinearRegression(), random_state=0).fit(X, y)
    >>> lower, upper = model.predict_interval(X_new, 0.9)
    >>> print(((lower <= y_new) & (y_new <= upper)).mean().round(2))
    0.89
    """

    def __init__(
        self,
        estimator: Any,
        *,
        method: str | Recalibrator = "isotonic",
        cv: Any = 5,
        ensemble: bool | str = "auto",
        scale_estimator: Any = "auto",
        dist: Callable[[Any, Any], Any] | None = None,
        shrinkage: bool = True,
        support: Support | str | None = "auto",
        n_jobs: int | None = None,
        random_state: RandomState | np.random.RandomState = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.ensemble = ensemble
        self.scale_estimator = scale_estimator
        self.dist = dist
        self.shrinkage = shrinkage
        self.support = support
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- fit -------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the estimator and the map.

        Parameters
        ----------
        X : (n, d) array-like
            Features: an array, a sparse matrix or a data frame that the estimator takes.
        y : (n,) array-like
            Outcomes.
        sample_weight : (n,) array-like, optional
            A weight of k moves the map as k rows do, but counts as one row in its guarantees; the
            estimator may use it otherwise.
        groups : (n,) array-like, optional
            The group of each row, for `Grouped` and for splitters such as ``GroupKFold``.
        **fit_params : dict
            For the estimator's ``fit``. If scikit-learn's metadata routing is enabled, it
            decides where arguments go.
        """
        check_params(self)
        refuse_forecaster(self.estimator)
        maps = maps_of(self.method, X)
        data = Data(*check_rows(X, y, sample_weight, groups))
        for recalibrator in maps.values():
            support = settle_support(recalibrator, self.support, data.y)
            check_groups(recalibrator, self.cv, data.groups)
        check_columns_of_frozen(self.estimator, data.X)
        routed = route(self, data, fit_params)
        for name in [name for name in vars(self) if name.endswith("_")]:  # of an earlier fit
            delattr(self, name)
        self.support_ = support

        frozen = isinstance(self.estimator, FrozenEstimator)
        estimator = self.estimator if frozen else clone(self.estimator)
        seed = seed_of(self.random_state)
        if self.random_state is not None:
            for recalibrator in maps.values():
                set_seeds(recalibrator, seed)
            if not frozen:
                set_seeds(estimator, seed)
        self._reader = ForecastReader()
        forecast = Forecaster(self.dist, self._reader)
        given = None
        # The rows that calibrate a frozen model are split only for what is learned from its errors.
        learns = self.scale_estimator is not None or learns_from_rows(maps)
        whole = frozen and (not learns or isinstance(self.cv, int | np.integer))
        if not (is_train(self.cv) or whole):
            given = make_splits(self.cv, data.X, data.y, routed.splitter.split, seed)
        with show_steps(type(self).__name__, self.verbose) as steps:
            given_to_fit = routed.estimator.fit, self.n_jobs, steps, learns
            fitter = CrossFitter(estimator, data.X, data.y, forecast, *given_to_fit)
            learned = learn(self, fitter, given, maps, data, seed)
        self._keep(learned)
        take_features(self, learned.models[0])
        self._column_names = column_names(data.X)
        if self._column_names is not None:
            self.feature_names_in_ = self._column_names
        return self

    def _keep(self, learned: Learned) -> None:
        """Take over what was learned."""
        self.ensemble_, self._widths = learned.averaged, learned.widths
        self._learned_from, self._calibration = learned.learned_from, learned.calibration
        self.scale_, self.shrinkage_ = learned.widths.learned, learned.shrinkage
        if learned.averaged:
            self.estimators_ = learned.models
        else:
            self.estimator_ = learned.models[0]
        if learned.choice is not None:
            self.choice_ = learned.choice
        if learned.averaged and not isinstance(self.ensemble, str):
            self.recalibrators_ = learned.maps
        else:
            self.recalibrator_ = learned.maps[0]

    # ---- predict ---------------------------------------------------------------------

    def predict_dist(self, X: Any, groups: ArrayLike | None = None) -> Distribution:
        """Return the recalibrated forecasts.

        Parameters
        ----------
        X, groups
            As in `fit`; groups are needed if the map is `Grouped`.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import BayesianRidge
        >>> import trueline as tl
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = tl.CalibratedRegressor(BayesianRidge(), random_state=0).fit(X, y)
        >>> F = model.predict_dist(X[:3])
        >>> len(F), bool((F.cdf(0.0) < 0.2).all())
        (3, True)
        """
        labels = check_labels(X=X, groups=groups)
        made = average(list(self._parts(X, groups)))
        if labels is not None:
            made._labels = labels
        return made

    def _parts(self, X: Any, groups: ArrayLike | None) -> Iterator[Distribution]:
        check_is_fitted(
            self, msg="This %(name)s instance is not fitted yet: call fit(X, y) before predicting."
        )
        models = self.estimators_ if hasattr(self, "estimators_") else [self.estimator_]
        maps = getattr(self, "recalibrators_", None) or [self.recalibrator_] * len(models)
        pairs = list(zip(models, maps, strict=True))
        if groups is None:
            refuse_without_groups(pairs[0][1])
        names = getattr(self, "_column_names", None)
        check_columns(pairs[0][0], names, X)
        ordered = in_order(X, names)  # maps of users may read columns by position
        self._reader = getattr(self, "_reader", None) or ForecastReader()
        forecast = Forecaster(self.dist, self._reader)
        for model, recalibrator in pairs:
            features = self._learned_from.of(model, ordered)
            dist = self._widths.apply(features, forecast(model, X))
            yield transform(recalibrator, dist, groups, features, self._weights_of(ordered))

    def predict(self, X: Any, groups: ArrayLike | None = None) -> FloatArray:
        """Return the means of the forecasts of `predict_dist`, (n,), with the same parameters."""
        return self.predict_dist(X, groups).mean()

    def predict_interval(
        self, X: Any, coverage: ArrayLike = 0.9, groups: ArrayLike | None = None
    ) -> tuple[Any, Any]:
        """Return central intervals that contain the outcome with a probability of `coverage`.

        Parameters
        ----------
        X, groups
            As in `predict_dist`.
        coverage : scalar or (m,) array-like, default 0.9
            In (0, 1).

        Returns
        -------
        lower, upper : ndarray, (n,) or (n, m)
            With `set_output` series, or frames with one column per coverage.

        Warns
        -----
        CalibrationWarning
            If there are too few calibration rows for such a wide interval.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import LinearRegression
        >>> import trueline as tl
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = tl.CalibratedRegressor(LinearRegression(), scale_estimator=None, random_state=0)
        >>> lower, upper = model.fit(X, y).predict_interval(X[:2], 0.8)
        >>> lower.round(), upper.round()
        (array([140.,   2.]), array([283., 145.]))
        """
        dist = self.predict_dist(X, groups)
        lower, upper = dist.interval(coverage)
        warn_if_folds_are_small(self, dist, 0.5 * (1.0 - np.max(coverage)))
        return framed(self, lower, "lower", coverage, X), framed(self, upper, "upper", coverage, X)

    def predict_quantiles(self, X: Any, levels: ArrayLike, groups: ArrayLike | None = None) -> Any:
        """Return quantiles of the recalibrated forecasts.

        Parameters
        ----------
        X, groups
            As in `predict_dist`.
        levels : (m,) array-like or scalar
            In (0, 1).

        Returns
        -------
        ndarray, (n, m), or (n,) for a scalar, or a frame with `set_output`

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import LinearRegression
        >>> import trueline as tl
        >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
        >>> model = tl.CalibratedRegressor(LinearRegression(), scale_estimator=None, random_state=0)
        >>> model = model.set_output(transform="pandas").fit(X, y)
        >>> model.predict_quantiles(X[5:7], [0.1, 0.5, 0.9]).round()
            0.1    0.5    0.9
        5  40.0  107.0  183.0
        6   8.0   74.0  151.0
        """
        dist = self.predict_dist(X, groups)
        values = dist.ppf(levels)
        warn_if_folds_are_small(self, dist, min(np.min(levels), 1.0 - np.max(levels)))
        return framed(self, values, f"quantile {levels!r}", levels, X)

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> float:
        """Return the coefficient of determination R^2 of `predict`; arguments are those of `fit`.

        It ignores the uncertainty; pass ``trueline.neg_crps`` as ``scoring=`` to score that too.
        """
        check_labels(X=X, y=y, sample_weight=sample_weight)
        return float(r2_score(y, self.predict(X, groups), sample_weight=sample_weight))

    # ---- the interface of scikit-learn -----------------------------------------------

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `predict_interval` and `predict_quantiles` return.

        Parameters
        ----------
        transform : "default", "pandas", "polars" or None
            None leaves the choice as it is. By default the choice is that of scikit-learn's
            ``set_config(transform_output=...)``. Frames of pandas keep the index of X.
        """
        if transform is not None:
            if transform not in ("default", "pandas", "polars"):
                raise ValueError(
                    f"transform is {transform!r}; expected 'default' (numpy), 'pandas' or 'polars'."
                )
            # The name is scikit-learn's, so that clone copies it.
            self._sklearn_output_config = {"transform": transform}
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the arguments that ``fit`` passes on, for scikit-learn's metadata routing."""
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        to_split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=to_fit)
        return router.add(splitter=self.cv, method_mapping=to_split)

    def __sklearn_tags__(self) -> Any:
        return inherited(super().__sklearn_tags__(), self.estimator)
