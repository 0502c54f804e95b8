"""The `method` parameter: the recalibrator of a name, and calls with what it takes."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any

from trueline.recalibration import BY_NAME, Recalibrator


def resolve(method: str | Recalibrator) -> Recalibrator:
    """Return an unfitted recalibrator, or a copy of the one given."""
    from sklearn.base import clone

    if isinstance(method, Recalibrator):
        copy: Recalibrator = clone(method)
        return copy
    if isinstance(method, str) and method in BY_NAME:
        return BY_NAME[method]()
    if isinstance(method, type) and issubclass(method, Recalibrator):
        raise TypeError(
            f"method is the class {method.__name__}; expected an object: {method.__name__}()."
        )
    close = get_close_matches(method.lower(), BY_NAME, n=1) if isinstance(method, str) else []
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise ValueError(
        f"method is {method!r}; expected a recalibrator such as Isotonic(), or one of the names "
        f"{', '.join(repr(name) for name in BY_NAME)}.{hint}"
    )


def fit(
    recalibrator: Recalibrator,
    y: Any,
    dist: Any,
    sample_weight: Any,
    groups: Any,
    X: Any,
    shrinkage: float = 1.0,
) -> Recalibrator:
    """Fit on scores that are multiplied by `shrinkage`, with the arguments that are taken."""
    given = _given(recalibrator, groups, X)
    if shrinkage != 1.0:
        scores = shrinkage * dist._score(y[:, None])
        if recalibrator.learns_from_scores:
            return recalibrator.fit_scores(
                scores[:, 0], sample_weight=sample_weight, kind=dist.score_kind, **given
            )
        y = dist._unscore(scores)[:, 0]
    return recalibrator.fit(y, dist, sample_weight=sample_weight, **given)


def transform(recalibrator: Recalibrator, dist: Any, groups: Any, X: Any) -> Any:
    """Transform, with the arguments that the recalibrator takes."""
    return recalibrator.transform(dist, **_given(recalibrator, groups, X))


def _given(recalibrator: Recalibrator, groups: Any, X: Any) -> dict[str, Any]:
    given = {"groups": groups} if recalibrator.needs_groups else {}
    return {**given, "X": X} if recalibrator.needs_features else given
