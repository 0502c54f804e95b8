"""Rows as a map that depends on features sees them, and parts of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray, Rows
from trueline.distributions import Distribution
from trueline.features import FeatureReader

# Number of rows whose quantiles are held at a time, and that decide how forecasts are prepared.
_BLOCK = 1 << 16
_ENOUGH = 10_000

# Rows, and their quantiles or forecasts.
Part = TypeVar("Part", bound=tuple[Rows, Any])


class Scored(NamedTuple):
    """Features, scores and weights of rows."""

    features: FloatArray
    s: FloatArray
    w: FloatArray | None

    def take(self, rows: Rows) -> Scored:
        """Return some of the rows."""
        return Scored(self.features[rows], self.s[rows], None if self.w is None else self.w[rows])

    def n_weighted(self, rows: Rows) -> int:
        """Return the number of these rows with a weight above 0."""
        return len(self.s[rows]) if self.w is None else int(np.count_nonzero(self.w[rows]))


def blocks(rows: Rows, size: int = _BLOCK) -> Iterator[Rows]:
    """Yield the rows in parts, so that few quantiles are held at a time."""
    for start in range(0, len(rows), size):
        yield rows[start : start + size]


def first_of(parts: Iterator[Part]) -> tuple[list[Part], Iterator[Part]]:
    """Return the first parts, which have enough rows to decide, and all parts."""
    first = []
    for part in parts:
        first.append(part)
        if sum(len(rows) for rows, _ in first) >= _ENOUGH:
            break
    return first, itertools.chain(first, parts)


def features_of(reader: FeatureReader, X: ArrayLike, dist: Distribution) -> FloatArray:
    """Return X as numbers beside the centre of the forecast and the logarithm of its spread."""
    a = reader.transform(X)
    if len(a) != len(dist):
        raise ValueError(f"X has {len(a)} rows but dist has {len(dist)}; expected the same number.")
    with np.errstate(divide="ignore"):
        own = np.column_stack([dist._centre(), np.log(dist._width())])
    return np.hstack([a, np.nan_to_num(own, posinf=1e30, neginf=-1e30)])
