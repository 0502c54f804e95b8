"""A fitted model whose calibration rows weigh as the mix of new rows asks for."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import _num_samples, check_is_fitted

from trueline._validation import FloatArray
from trueline.estimators._crossfit import Fold, OutOfFold
from trueline.estimators._fitting import Data, fit_map, fit_map_per_fold
from trueline.estimators._frames import check_columns, in_order
from trueline.estimators._preprocessing import LearnedFrom
from trueline.estimators._splits import LearningSplits
from trueline.shift import ShiftWeights, shift_weights


class Calibration(NamedTuple):
    """The rows of a fit and their out-of-fold forecasts, from which maps are learned again.

    `table` are the features that maps see, X with what a pipeline makes of it.
    """

    data: Data
    table: Any
    forecasts: OutOfFold
    splits: LearningSplits
    seed: int


class Adaptable(BaseEstimator):  # type: ignore[misc]
    """The part of `CalibratedRegressor` that follows the mix of new rows."""

    cv: Any
    shrinkage_: float
    _calibration: Calibration
    _column_names: Any
    _learned_from: LearnedFrom

    def adapt(self, X_new: Any, *, X: Any = None) -> Self:
        """Return a copy of the fitted model that is calibrated for the mix of new rows.

        The calibration rows are weighted with `trueline.shift_weights` of their features and those
        of the new rows, and the map is fitted again on their out-of-fold forecasts. Nothing else is
        fitted, and this model stays as it is. The forecasts of the copy leave each row the mass of
        its own weight. If no shift is found, they are the same as before.

        Parameters
        ----------
        X_new : (m, d) array-like
            Features of at least 20 new rows, without outcomes.
        X : (n, d) array-like, optional
            The features that the model was fitted on, which files of it do not hold. Only a model
            that was loaded from a file needs them.

        Returns
        -------
        CalibratedRegressor
            With the weights and what they say about the overlap as ``shift_``.

        Raises
        ------
        ValueError
            If the new rows are too unlike the calibration rows for weights.

        Notes
        -----
        A fitted model keeps the features it was fitted on as they are, without a copy, and about 80
        bytes for each row: its outcome, its forecast and where these belong. Quantile forecasts and
        draws take 8 bytes per level or draw more. Files hold all of this but the features.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.linear_model import LinearRegression
        >>> import trueline as tl
        >>> rng = np.random.default_rng(4)
        >>> X, X_new = rng.normal(size=(2000, 2)), rng.normal([1.0, 0.0], size=(2000, 2))
        >>> y, y_new = (x[:, 0] + rng.normal(0.0, np.exp(0.7 * x[:, 0])) for x in (X, X_new))
        >>> model = tl.CalibratedRegressor(
        ...     LinearRegression(), scale_estimator=None, random_state=0
        ... ).fit(X, y)
        >>> for each in (model, model.adapt(X_new)):
        ...     print(f"{tl.coverage(y_new, each.predict_dist(X_new), 0.9):.2f}")
        0.69
        0.90
        """
        check_is_fitted(
            self, msg="This %(name)s instance is not fitted yet: call fit(X, y) before adapting."
        )
        data, _, forecasts, splits, seed = self._calibration
        features, table = self._features_of_fit(X)
        data = data._replace(X=features)
        names = self._column_names
        fitted = self.estimators_[0] if "estimators_" in self.__dict__ else self.estimator_
        check_columns(fitted, names, X_new)
        once = data.take(forecasts.unique_rows)
        found = shift_weights(once.X, in_order(X_new, names), random_state=seed)
        adapted = copy(self)
        adapted._calibration, adapted.shift_ = self._calibration, found
        if not found.is_shift:
            return adapted
        weight = np.zeros(len(data.y))
        weight[forecasts.unique_rows] = found.weights
        if data.sample_weight is not None:
            weight *= data.sample_weight
        data = data._replace(X=table, sample_weight=weight)
        if "recalibrators_" in self.__dict__:
            maps = self.recalibrators_
            folds = [Fold(forecasts.rows[p], forecasts.dist, None) for p in forecasts.positions]
            adapted.recalibrators_ = fit_map_per_fold(
                clone(maps[0]), data, forecasts, folds, self.shrinkage_, self.cv, seed
            )
        else:
            unfitted = clone(self.recalibrator_)
            adapted.recalibrator_ = fit_map(unfitted, data, forecasts, splits, self.shrinkage_)
        return adapted

    def _features_of_fit(self, X: Any) -> tuple[Any, Any]:
        """Return the features of the fit, those that are given or else kept, and what maps see."""
        kept = self._calibration.data
        if X is None:
            if kept.X is None:
                raise ValueError(
                    "X is missing; expected the features that the model was fitted on, because it "
                    "was loaded from a file, and files do not hold them: adapt(X_new, X=X)."
                )
            return kept.X, self._calibration.table
        if _num_samples(X) != len(kept.y):
            raise ValueError(
                f"X has {_num_samples(X)} rows; expected the {len(kept.y)} rows that the model was "
                f"fitted on, in their order."
            )
        ordered = in_order(X, self._column_names)
        models = self.__dict__.get("estimators_") or [self.__dict__["estimator_"]]
        return ordered, self._learned_from.of(models[0], ordered)

    def _weights_of(self, X: Any) -> FloatArray | None:
        """Return the weights of new rows, on the scale of the map; None without a shift."""
        found: ShiftWeights | None = self.__dict__.get("shift_")
        if found is None or not found.is_shift:
            return None
        given = self._calibration.data.sample_weight
        usual = 1.0 if given is None else float(given[self._calibration.forecasts.rows].mean())
        return usual * found.of(X)

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())
        # Readers that users register may be functions that cannot be pickled.
        state.pop("_reader", None)
        if "_calibration" in state:  # features may be large, and need not be for others to see
            kept = self._calibration
            without = kept.data._replace(X=None)
            state["_calibration"] = kept._replace(data=without, table=None)
        return state
