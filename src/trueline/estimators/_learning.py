"""What `CalibratedRegressor.fit` learns, one thing after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from sklearn.frozen import FrozenEstimator

from trueline.distributions import Distribution
from trueline.estimators._adapt import Calibration
from trueline.estimators._choice import CHOICE, TO_CHOOSE, Choice, choose, compare_on
from trueline.estimators._crossfit import CrossFitter, out_of_fold
from trueline.estimators._fitting import (
    MAP,
    Data,
    Fitted,
    Widths,
    averages_folds,
    expect_work,
    fit_map,
    fit_map_per_fold,
    fit_models,
    learn_widths,
    splits_to_learn,
    uses_out_of_bag,
)
from trueline.estimators._preprocessing import LearnedFrom, choose_features
from trueline.estimators._shrinkage import find_shrinkage, thinned_splits
from trueline.estimators._splits import LearningSplits, Split
from trueline.recalibration import Recalibrator


def learns_from_rows(maps: Mapping[str, Recalibrator]) -> bool:
    """Whether rows are split for the map: because it depends on x, or is one of several."""
    return len(maps) > 1 or any(R.needs_features for R in maps.values())


class Learned(NamedTuple):
    """Models, and what makes their forecasts true.

    The forecasts of all models are averaged if `averaged`. There is one map, or with
    ``ensemble=True`` one per model.
    """

    models: list[Any]
    averaged: bool
    learned_from: LearnedFrom
    widths: Widths
    choice: Choice | None
    shrinkage: float
    maps: list[Recalibrator]
    calibration: Calibration


def learn(
    params: Any,
    fitter: CrossFitter,
    given: list[Split] | None,
    maps: Mapping[str, Recalibrator],
    data: Data,
    seed: int,
) -> Learned:
    """Fit models, widths, the shrinkage and maps.

    Parameters
    ----------
    params : CalibratedRegressor
        Its parameters say how.
    fitter : CrossFitter
        Fits copies of the estimator.
    given : list of (train, test) or None
        The user's splits; None if all rows calibrate a model that is trained on all of them.
    maps : dict
        The unfitted maps to choose from, by name.
    data : Data
        The rows.
    seed : int
        Seed of everything that is drawn.
    """
    fitted, averaged = _fit_models(params, fitter, given, maps, data)
    raw = out_of_fold(fitted.folds)
    inner = LearningSplits([], independent=True)
    scale_estimator = _scale_estimator(params, maps)
    if scale_estimator is not None or learns_from_rows(maps):
        inner = splits_to_learn(given, params.cv, data, raw.unique_rows, seed)
    learned_from, table = choose_features(data.X, fitted.folds, fitted.models[0])
    of_user, data = data, data._replace(X=table)
    read_model = fitted.models[0] if params.dist is None else None
    widths, forecasts = learn_widths(
        scale_estimator, data, raw, inner, read_model, seed, params.support_, fitter
    )
    own = raw._replace(dist=raw.dist._widened(widths.added))
    plain = _of_own_width(params, maps)
    name, choice = next(iter(maps)), None
    if len(maps) > 1:
        compared = compare_on(own, forecasts, inner, fitted.fewer, widths)
        with fitter.steps.step(CHOICE):
            choice = choose(maps, plain, data, compared, seed)
        fitter.steps.detail(str(choice))
        name = choice.name
    if name in plain:
        widths, forecasts = widths._replace(learned=None), own
    shrinkage = (
        _shrinkage(fitted, widths, forecasts.dist, data, averaged) if params.shrinkage else 1.0
    )
    fitter.steps.detail(f"the shrinkage is {shrinkage:.4f}")
    with fitter.steps.step(MAP):
        if averaged and not isinstance(params.ensemble, str):
            found = fit_map_per_fold(
                maps[name], data, forecasts, fitted.folds, shrinkage, params.cv, seed
            )
        else:
            found = [fit_map(maps[name], data, forecasts, inner, shrinkage)]
    kept = inner if maps[name].needs_features else LearningSplits([], independent=True)
    calibration = Calibration(of_user, table, forecasts, kept, seed)
    return Learned(
        fitted.models, averaged, learned_from, widths, choice, shrinkage, found, calibration
    )


def _fit_models(
    params: Any,
    fitter: CrossFitter,
    given: list[Split] | None,
    maps: Mapping[str, Recalibrator],
    data: Data,
) -> tuple[Fitted, bool]:
    """Fit the models; return also whether those of the folds are averaged."""
    several = len(maps) > 1
    splits = None if isinstance(fitter.estimator, FrozenEstimator) else given
    averaged = averages_folds(params.ensemble, fitter.estimator, splits, len(data.y))
    out_of_bag = params.dist is None and uses_out_of_bag(fitter.estimator, params.cv, data)
    thinned = []
    if params.shrinkage or several:
        thinned = thinned_splits(splits or [], len(data.y), **(TO_CHOOSE if several else {}))
    expect_work(
        fitter,
        [] if splits is None or out_of_bag else [*splits, *thinned],
        _scale_estimator(params, maps),
        needs_features=any(R.needs_features for R in maps.values()),
        refits=not averaged,
    )
    weight = data.sample_weight
    fitted = fit_models(fitter, splits, thinned, weight, ensemble=averaged, out_of_bag=out_of_bag)
    return fitted, averaged


def _of_own_width(params: Any, maps: Mapping[str, Recalibrator]) -> set[str]:
    """Return the maps that find the width themselves, which a learned one would not help."""
    if not isinstance(params.scale_estimator, str):
        return set()
    return {name for name, R in maps.items() if not R.reads_width}


def _scale_estimator(params: Any, maps: Mapping[str, Recalibrator]) -> Any:
    """Return what learns the width; None if no map has a use for it."""
    return None if len(_of_own_width(params, maps)) == len(maps) else params.scale_estimator


def _shrinkage(
    fitted: Fitted, widths: Widths, dist: Distribution, data: Data, averaged: bool
) -> float:
    """Return the factor of the scores of out-of-fold forecasts."""
    if fitted.fewer is None:
        return 1.0 if fitted.shrinkage is None else fitted.shrinkage
    fewer = fitted.fewer
    widened = fewer._replace(dist=widths.apply_as(dist, fewer.dist, fewer.rows))
    n_averaged = len(fitted.models) if averaged else 0
    return find_shrinkage(data.y, dist, widened, data.sample_weight, n_averaged=n_averaged)
