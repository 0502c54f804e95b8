"""Fits that several recalibrations of one model share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError


class SharedFits(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Stands for a model and remembers its fits, so that none is made twice.

    Copies remember together. What is asked for at once is trained at once, if the model can.

    Parameters
    ----------
    model : estimator
        Its fits must not depend on anything but the rows.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self._known: dict[str, Any] = {}

    def __sklearn_clone__(self) -> SharedFits:
        return self

    def fit(self, X: Any, y: Any) -> Any:
        """Return the model, fitted on these rows."""
        return self._fit_copies([(X, y, {})])[0]

    def predict(self, X: Any) -> Any:
        """Refuse: it is the fits that predict."""
        raise NotFittedError(f"{self!r} stands for its fits; ask one of them.")

    def _fit_copies(self, sets: Sequence[tuple[Any, Any, dict[str, Any]]]) -> list[Any]:
        keys = [_key(X, y) for X, y, _ in sets]
        new = {key: rows for key, rows in zip(keys, sets, strict=True) if key not in self._known}
        self._known |= dict(zip(new, _fit(self.model, list(new.values())), strict=True))
        return [self._known[key] for key in keys]


def _fit(model: Any, sets: Sequence[tuple[Any, Any, dict[str, Any]]]) -> list[Any]:
    if hasattr(model, "_fit_copies"):
        fitted: list[Any] = model._fit_copies(sets)
        return fitted
    return [clone(model).fit(X, y, **params) for X, y, params in sets]


def _key(X: Any, y: Any) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(X).tobytes())
    digest.update(np.ascontiguousarray(y).tobytes())
    return digest.hexdigest()
