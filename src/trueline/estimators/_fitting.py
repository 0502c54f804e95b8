"""The steps of `CalibratedRegressor.fit`: seeds, routing, forecasts, widths and maps."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, _safe_indexing
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import _num_samples

from trueline._messages import did_you_mean
from trueline._validation import CalibrationWarning, FloatArray, Rows, generator
from trueline.distributions import Distribution, Normal, Support
from trueline.estimators._checks import splits_by_group
from trueline.estimators._crossfit import CrossFitter, Fold, OutOfFold, out_of_fold
from trueline.estimators._shrinkage import more_trees_factor
from trueline.estimators._splits import LearningSplits, Split, find_copies, learning_splits
from trueline.interop._sklearn import (
    leaves_rows_out,
    read_out_of_bag,
    spread_excludes_noise,
    varies_between_fits,
)
from trueline.recalibration import BY_NAME, Recalibrator
from trueline.recalibration._least_width import choose_width
from trueline.recalibration._preparation import Preparation, find_support
from trueline.scores import empirical_law

# Steps that are no fits of the estimator, and the seconds that they take: a forest of widths, and
# a map that depends on x or not.
_WIDTH = "learning the width"
MAP = "fitting the map"
_WIDTH_SECONDS, _WIDTH_SECONDS_PER_ROW = 0.2, 1e-5
_MAP_SECONDS_PER_ROW, _CONDITIONAL_SECONDS_PER_ROW = 1e-6, 2e-4


class Data(NamedTuple):
    """The rows that ``fit`` is called with."""

    X: Any
    y: FloatArray
    sample_weight: FloatArray | None
    groups: Any

    def take(self, rows: Rows) -> Data:
        """Return some of the rows, sorted and without repetitions; itself if those are all."""
        if len(rows) == _num_samples(self.X):
            return self
        return Data(_safe_indexing(self.X, rows), self.y[rows], *self.weights_and_groups(rows))

    def weights_and_groups(self, rows: Rows) -> tuple[Any, Any]:
        """Return the weights and groups of these rows, which may repeat."""
        weight, groups = self.sample_weight, self.groups
        return None if weight is None else weight[rows], None if groups is None else groups[rows]


class Widths(NamedTuple):
    """How widths change before recalibration: what is added to all, and a learned width."""

    added: float = 0.0
    learned: Any = None

    def apply(self, X: Any, dist: Distribution) -> Distribution:
        """Return forecasts of new rows with these widths."""
        dist = dist._widened(self.added)
        return dist if self.learned is None else self.learned.apply(X, dist)

    def apply_as(self, honest: Distribution, dist: Distribution, rows: Rows) -> Distribution:
        """Return forecasts of calibration rows with the widths that `honest` has in these rows.

        `honest` are forecasts of all calibration rows, with widths learned without them. The
        forecasts keep their own widths if none are learned.
        """
        dist = dist._widened(self.added)
        if self.learned is None or self.learned.kind == "own":
            return dist
        from trueline.estimators._learned_width import rescaled

        return rescaled(dist, honest._width()[rows])


def resolve(method: str | Recalibrator) -> Recalibrator:
    """Return the unfitted recalibrator of a name, or a copy of the one given."""
    if isinstance(method, Recalibrator):
        copy: Recalibrator = clone(method)
        return copy
    if isinstance(method, str) and method in BY_NAME:
        return BY_NAME[method]()
    if isinstance(method, type) and issubclass(method, Recalibrator):
        raise TypeError(
            f"method is the class {method.__name__}; expected an object: {method.__name__}()."
        )
    raise ValueError(
        f"method is {method!r}; expected a recalibrator such as Isotonic(), or one of the names "
        f"{', '.join(repr(name) for name in BY_NAME)}."
        f"{did_you_mean(method.lower(), BY_NAME) if isinstance(method, str) else ''}"
    )


def settle_support(
    recalibrator: Recalibrator, support: Support | str | None, y: FloatArray
) -> Support | None:
    """Give the support of all outcomes to a map that has none of its own, and return it."""
    params = recalibrator.get_params(deep=False)
    if "support" not in params:
        return None
    own = params["support"]
    found = find_support(support if isinstance(own, str) and own == "auto" else own, y)
    if found is not None or support is None:
        recalibrator.set_params(support=found)
    return found


def seed_of(random_state: Any) -> int:
    """Return a seed that all parts of a fit share."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, int | np.integer) and 0 <= random_state < 2**32:
        return int(random_state)
    return int(generator(random_state).integers(2**31))


def set_seeds(part: Any, seed: int) -> None:
    """Set every ``random_state`` that is None in an estimator or recalibrator."""
    unset = [
        name
        for name, value in part.get_params().items()
        if value is None and name.rpartition("__")[2] == "random_state"
    ]
    part.set_params(**dict.fromkeys(unset, seed))


def route(model: Any, data: Data, fit_params: dict[str, Any]) -> Bunch:
    """Return the arguments of the estimator's fit and of the splitter, as scikit-learn does."""
    if get_config()["enable_metadata_routing"]:
        return process_routing(
            model, "fit", sample_weight=data.sample_weight, groups=data.groups, **fit_params
        )
    to_estimator = dict(fit_params)
    if data.sample_weight is not None and not isinstance(model.estimator, FrozenEstimator):
        if "sample_weight" in signature(model.estimator.fit).parameters:
            to_estimator["sample_weight"] = data.sample_weight
        else:
            warnings.warn(
                f"{type(model.estimator).__name__}.fit takes no sample_weight, so the weights "
                f"are used for the map alone. To route them further, enable scikit-learn's "
                f"metadata routing: sklearn.set_config(enable_metadata_routing=True).",
                CalibrationWarning,
                stacklevel=3,
            )
    to_splitter = {"groups": data.groups} if splits_by_group(model.cv) else {}
    return Bunch(estimator=Bunch(fit=to_estimator), splitter=Bunch(split=to_splitter))


def averages_folds(
    ensemble: bool | str, estimator: Any, splits: Sequence[Split] | None, n: int
) -> bool:
    """Whether the models of the folds are averaged rather than one refitted.

    "auto" averages models whose fits differ much, unless a fold trains on less than half of the n
    rows, as the first ones of `TimeSeriesSplit` do.
    """
    if not isinstance(ensemble, str):
        return bool(ensemble)
    trained = [len(train) for train, _ in splits or []]
    return bool(trained) and 2 * min(trained) >= n and varies_between_fits(estimator)


def uses_out_of_bag(estimator: Any, cv: Any, data: Data) -> bool:
    """Whether one forest takes the place of the folds: its trees forecast rows they did not draw.

    A tree that drew the copy of a row knows its outcome.
    """
    return (
        isinstance(cv, int | np.integer)
        and leaves_rows_out(estimator)
        and find_copies(data.X, data.y) is None
    )


class Fitted(NamedTuple):
    """Forecasts to calibrate on, models to predict with, and what is known of fewer rows.

    `fewer` are forecasts of models that were trained without two folds; `shrinkage` is the ratio of
    the errors of the models to those of the forecasts, if it is known without them.
    """

    folds: list[Fold]
    models: list[Any]
    fewer: OutOfFold | None = None
    shrinkage: float | None = None


def expect_work(
    fitter: CrossFitter,
    splits: Sequence[Split],
    scale_estimator: Any,
    *,
    needs_features: bool,
    refits: bool,
) -> None:
    """Announce a fit per split and one on all rows, the width and the map."""
    n = len(fitter.y)
    per_row = _CONDITIONAL_SECONDS_PER_ROW if needs_features else _MAP_SECONDS_PER_ROW
    seconds = {MAP: per_row * n}
    if scale_estimator is not None:
        seconds[_WIDTH] = _WIDTH_SECONDS + _WIDTH_SECONDS_PER_ROW * n
    fits = sum(len(train) for train, _ in splits) / n
    if refits and not isinstance(fitter.estimator, FrozenEstimator):
        fits += 1.0
    fitter.steps.expect(fits=fits, seconds=seconds)


def fit_models(
    fitter: CrossFitter,
    splits: Sequence[Split] | None,
    thinned: Sequence[Split],
    sample_weight: FloatArray | None,
    *,
    ensemble: bool,
    out_of_bag: bool,
) -> Fitted:
    """Fit models on folds and on all rows, or one forest, whose trees leave rows out."""
    rows = np.arange(len(fitter.y))
    if splits is not None and ensemble:
        folds = fitter.fit_folds(splits, keep=True)
        return Fitted(folds, [fold.model for fold in folds], _without_two(fitter, thinned))
    if splits is not None and not out_of_bag:
        model, folds = fitter.fit_all_and_folds(splits)
        return Fitted(folds, [model], _without_two(fitter, thinned))
    model = fitter.fit_all()
    if splits is None:
        return Fitted([fitter.forecast_rows(model, rows)], [model])
    found = read_out_of_bag(model, fitter.X)
    if found is None:
        fitter.steps.expect(fits=len(splits) - 1.0)
        return Fitted(fitter.fit_folds(splits), [model], _without_two(fitter, thinned))
    error = fitter.y[found.rows] - found.forecast._centre()
    weight = None if sample_weight is None else sample_weight[found.rows]
    factor = more_trees_factor(error, found.more_noise, weight)
    return Fitted([Fold(found.rows, found.forecast, model)], [model], shrinkage=factor)


def _without_two(fitter: CrossFitter, thinned: Sequence[Split]) -> OutOfFold | None:
    if not thinned:
        return None
    return out_of_fold(fitter.fit_folds(thinned, name="fitting on fewer rows, fit"))


def splits_to_learn(
    given: Sequence[Split] | None, cv: Any, data: Data, rows: Rows, seed: int
) -> LearningSplits:
    """Return splits of the calibration rows for what is learned from errors."""
    X, y, _, groups = data.take(rows)
    groups = groups if splits_by_group(cv) else None
    shuffled = isinstance(cv, int | np.integer)
    n = len(data.y)
    return learning_splits(given or [], rows, n, X, y, groups, seed, shuffled=shuffled)


def learn_widths(
    scale_estimator: Any,
    data: Data,
    forecasts: OutOfFold,
    learning: LearningSplits,
    model: Any,
    seed: int,
    support: Support | None,
    fitter: CrossFitter,
) -> tuple[Widths, OutOfFold]:
    """Learn the widths; return also the forecasts with widths learned without their rows.

    `model` is the fitted model, or None if its own scale is to be left as it is. The fitter says
    how many jobs to use and shows the step.
    """
    widths, dist = Widths(), forecasts.dist
    if type(dist) is Normal and model is not None and spread_excludes_noise(model):
        # Where the trees of a forest happen to agree, their spread is nearly zero.
        y, weight = data.y[forecasts.rows], forecasts.weights(data.sample_weight)
        widths = Widths(choose_width(y, dist, weight, empirical_law))
        dist = dist._widened(widths.added)
    if scale_estimator is not None:
        from trueline.estimators._learned_width import learn_width, rescaled

        # The width of a row is learned from other rows, and its other forecasts would reveal its
        # outcome, so that only the first forecast of each row is used.
        X, y, weight, _ = data.take(forecasts.unique_rows)
        repeated = len(forecasts.first) < len(dist)
        firsts = dist._take(forecasts.first) if repeated else dist
        atoms = None if support is None else support.atoms(y)
        if hasattr(scale_estimator, "get_params"):
            scale_estimator = clone(scale_estimator)
            set_seeds(scale_estimator, seed)
        with fitter.steps.step(_WIDTH):
            learned, honest = learn_width(
                scale_estimator, X, y, firsts, weight, learning, seed, atoms, fitter.n_jobs
            )
        crps = ", ".join(f"{name} {crps:.4g}" for name, crps in learned.crps.items())
        fitter.steps.detail(f"the width is {learned.kind}{crps and f'; CRPS: {crps}'}")
        widths = widths._replace(learned=learned)
        if not repeated:
            dist = honest
        elif learned.kind != "own":
            dist = rescaled(dist, honest._width()[forecasts.row_index])
    return widths, forecasts._replace(dist=dist)


def fit_map(
    recalibrator: Recalibrator,
    data: Data,
    forecasts: OutOfFold,
    learning: LearningSplits,
    shrinkage: float,
) -> Recalibrator:
    """Fit one map on the forecasts of all folds."""
    once = data.take(forecasts.unique_rows)
    if recalibrator.needs_features:  # it learns from x, so that each row counts once
        X, y, weight, groups = once
        dist = forecasts.dist._take(forecasts.first)
    else:
        X, y, dist = once.X, data.y[forecasts.rows], forecasts.dist
        weight = forecasts.weights(data.sample_weight)
        _, groups = data.weights_and_groups(forecasts.rows)
    splits = _to_leave_out(learning)
    return _fit_shrunk(recalibrator, y, dist, weight, groups, X, splits, shrinkage)


def fit_rows(
    recalibrator: Recalibrator, data: Data, rows: Rows, dist: Distribution
) -> Recalibrator:
    """Fit a map on one forecast of each of some rows."""
    X, y, weight, groups = data.take(rows)
    return _fit_shrunk(recalibrator, y, dist, weight, groups, X, None, 1.0)


def fit_map_per_fold(
    recalibrator: Recalibrator,
    data: Data,
    forecasts: OutOfFold,
    folds: Sequence[Fold],
    shrinkage: float,
    cv: Any,
    seed: int,
) -> list[Recalibrator]:
    """Fit a map for each fold, on its test rows; all prepare forecasts in the same way."""
    preparation = None
    if recalibrator.learns_from_scores:
        weight = forecasts.weights(data.sample_weight)
        preparation = recalibrator._prepare(data.y[forecasts.rows], forecasts.dist, weight)
    maps = []
    for fold, position in zip(folds, forecasts.positions, strict=True):
        splits = None
        if recalibrator.needs_features:  # a fold may hold several groups
            splits = _to_leave_out(splits_to_learn(None, cv, data, fold.rows, seed))
        fitted = _fit_shrunk(
            clone(recalibrator),
            data.y[fold.rows],
            forecasts.dist._take(position),
            *data.weights_and_groups(fold.rows),
            _safe_indexing(data.X, fold.rows),
            splits,
            shrinkage,
            preparation,
        )
        maps.append(fitted)
    return maps


def _to_leave_out(learning: LearningSplits) -> list[Split] | None:
    """Return the splits of a map that depends on x; None leaves rows out one by one.

    That takes fewer fits than folds do, and is valid for independent rows.
    """
    return None if learning.independent else learning.splits


def _fit_shrunk(
    recalibrator: Recalibrator,
    y: Any,
    dist: Any,
    sample_weight: Any,
    groups: Any,
    X: Any,
    splits: Sequence[Split] | None,
    shrinkage: float,
    preparation: Preparation | None = None,
) -> Recalibrator:
    """Fit on scores that are multiplied by `shrinkage`, with the arguments that are taken."""
    given = _given(recalibrator, groups, X)
    if recalibrator.needs_features:
        given["folds"] = splits
    if preparation is not None:
        given["preparation"] = preparation
    return recalibrator._fit_scaled(shrinkage, y, dist, sample_weight=sample_weight, **given)


def transform(
    recalibrator: Recalibrator, dist: Any, groups: Any, X: Any, weight: FloatArray | None
) -> Any:
    """Transform, with the arguments that the recalibrator takes."""
    given = _given(recalibrator, groups, X)
    if weight is not None and recalibrator.weighs_new_rows:
        given["sample_weight"] = weight
    return recalibrator.transform(dist, **given)


def _given(recalibrator: Recalibrator, groups: Any, X: Any) -> dict[str, Any]:
    given = {"groups": groups} if recalibrator.needs_groups else {}
    return {**given, "X": X} if recalibrator.needs_features else given
