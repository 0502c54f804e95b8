"""Model fits that several recalibrators share."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.exceptions import NotFittedError

from trueline.models import fit_many


class SharedFits(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A model that stores its fits, so that none is made twice.

    Clones share their fits. Fits that are requested together are trained together, if the model
    supports that.

    Parameters
    ----------
    model : estimator
        A fit must depend on the rows only.
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
        """Raise: only the fitted models predict."""
        raise NotFittedError(f"{self!r} is not fitted; call predict on the model that fit returns.")

    def _fit_copies(
        self, sets: Sequence[tuple[Any, Any, dict[str, Any]]], steps: Any = None
    ) -> list[Any]:
        keys = [_key(X, y) for X, y, _ in sets]
        new = {key: rows for key, rows in zip(keys, sets, strict=True) if key not in self._known}
        self._known |= dict(zip(new, _fit(self.model, list(new.values())), strict=True))
        return [self._known[key] for key in keys]


def _fit(model: Any, sets: Sequence[tuple[Any, Any, dict[str, Any]]]) -> list[Any]:
    if hasattr(model, "predict_dist"):  # a network: all copies are trained as one stack
        return list(fit_many(model, [(X, y) for X, y, _ in sets])) if sets else []
    return [clone(model).fit(X, y, **params) for X, y, params in sets]


def _key(X: Any, y: Any) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(X).tobytes())
    digest.update(np.ascontiguousarray(y).tobytes())
    return digest.hexdigest()
