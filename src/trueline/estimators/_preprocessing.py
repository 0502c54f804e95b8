"""Features that a pipeline makes of X, beside X, for what is learned from errors."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from trueline._validation import FloatArray, Rows
from trueline.estimators._frames import unwrapped
from trueline.features import FeatureReader

# Columns that are made of X may be as many as those of X, or this many; alone, this many.
_MOST_BESIDE = 10
_MOST_ALONE = 1000
# Rows on which columns are compared.
_FEW = 1000


class Made(NamedTuple):
    """Features that the steps of a pipeline before its last one make, and their names if known."""

    values: FloatArray
    names: tuple[str, ...] | None


class MadeRows(Protocol):
    """Some rows, and the features that are made of them; None if there are none."""

    @property
    def rows(self) -> Rows: ...
    @property
    def made(self) -> Made | None: ...


def make_features(model: Any, X: Any) -> Made | None:
    """Return the features that a fitted model makes of X; None if it is no pipeline of numbers."""
    inner = unwrapped(model)
    if not isinstance(inner, Pipeline) or len(inner) < 2:
        return None
    steps = inner[:-1]
    if not hasattr(steps, "transform"):
        return None
    values = steps.transform(X)
    if hasattr(values, "toarray"):
        if values.shape[1] > _MOST_ALONE:
            return None
        values = values.toarray()
    values = np.asarray(values)
    if values.ndim != 2 or values.dtype.kind not in "biuf" or values.shape[1] > _MOST_ALONE:
        return None
    return Made(values.astype(np.float64), _names(steps))


def _names(steps: Pipeline) -> tuple[str, ...] | None:
    try:
        return tuple(steps.get_feature_names_out())
    except (AttributeError, ValueError):  # some transformers have no names
        return None


@dataclass(frozen=True)
class LearnedFrom:
    """What the width and the map learn from: X, or columns that a pipeline makes, or both.

    If X can be read, the columns that the pipeline makes stand beside it, unless they only rescale
    a column of X, which is the same to a tree, or are more than 10 and more than those of X. If X
    cannot be read, because it is sparse or holds lists, they take its place.

    The columns of a row are made by a pipeline that was fitted without it. If the pipelines of the
    folds and of the refit make different columns, such as one per category that they met, those
    are not used.
    """

    kept: tuple[int, ...] = ()
    reads_x: bool = True

    @classmethod
    def choose(cls, X: Any, made: Made | None) -> LearnedFrom:
        """Choose columns by their values in some rows."""
        if made is None:
            return cls()
        try:
            read = FeatureReader().fit(X).transform(X)
        except (TypeError, ValueError):
            return cls(tuple(range(made.values.shape[1])), reads_x=False)
        new = np.flatnonzero(~_only_rescale(read, made.values))
        return cls() if len(new) > max(_MOST_BESIDE, read.shape[1]) else cls(tuple(new.tolist()))

    def of(self, model: Any, X: Any) -> Any:
        """Return the features of new rows, whose forecasts are those of this model."""
        made = make_features(model, X) if self.kept else None
        return X if made is None else self.beside(X, made.values)

    def beside(self, X: Any, made: FloatArray) -> Any:
        """Return X with the chosen columns."""
        columns = made[:, list(self.kept)]
        if not self.reads_x:
            return columns
        names = [f"made by the pipeline, {j}" for j in self.kept]
        if hasattr(X, "iloc"):
            frame = type(X)(columns, index=X.index, columns=names)
            return sys.modules["pandas"].concat([X, frame], axis=1)
        if hasattr(X, "hstack"):  # of polars
            return X.hstack(type(X)(columns, schema=names))
        return np.column_stack([np.asarray(X), columns])


def choose_features(X: Any, parts: Sequence[MadeRows], model: Any) -> tuple[LearnedFrom, Any]:
    """Choose what is learned from; return also the features of all rows.

    Parameters
    ----------
    X : table of n rows
    parts : sequence of objects with `rows` and `made`
        What the model of each fold makes of its test rows. A row that is in several has the
        features of the last one, and one in none has none.
    model : fitted model
        What forecasts new rows.
    """
    found = [(part.rows, part.made) for part in parts if part.made is not None]
    if len(found) < len(parts):
        return LearnedFrom(), X
    rows = np.concatenate([rows for rows, _ in found])
    some = _safe_indexing(X, rows[:: max(len(rows) // _FEW, 1)])
    own = make_features(model, some)
    if own is None or not all(_same(made, own) for _, made in found):
        return LearnedFrom(), X
    chosen = LearnedFrom.choose(some, own)
    if not chosen.kept:
        return chosen, X
    table = np.full((_num_samples(X), own.values.shape[1]), np.nan)
    for rows, made in found:
        table[rows] = made.values
    return chosen, chosen.beside(X, table)


def _same(one: Made, other: Made) -> bool:
    return one.values.shape[1] == other.values.shape[1] and one.names == other.names


def _only_rescale(read: FloatArray, made: FloatArray) -> Any:
    """Whether each made column rises or falls with a column that is read, (d,)."""
    only = np.zeros(made.shape[1], dtype=bool)
    slack = 1e-9 * np.ptp(np.nan_to_num(made), axis=0)
    for column in read.T:
        order = np.argsort(column)  # NaN comes last
        steps = np.diff(made[order[: np.count_nonzero(~np.isnan(column))]], axis=0)
        only |= (steps >= -slack).all(axis=0) | (steps <= slack).all(axis=0)
    return only
