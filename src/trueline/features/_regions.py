"""Regions of the feature space in which an event has different shares, in words."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trueline._messages import printable, shortened
from trueline._validation import FloatArray, Rows
from trueline.features._table import Column, Table

#: The words of the only region, if the tree has one leaf.
EVERYWHERE = "all rows"

_MOST_REGIONS = 6
# Share of the searched rows that a region holds, at least.
_LEAST_SHARE = 0.025
# A split must separate the shares by this value of chi-squared with one degree of freedom, plus
# twice the logarithm of the number of columns: the best split of noise rarely reaches it.
_CHI_SQUARED = 10.0
# Categories with fewer searched rows count as one: their shares would be noise.
_FEWEST_OF_CATEGORY = 20
_MOST_NAMED = 4
_LONGEST_NAME = 40


def learn_regions(
    table: Table, event: NDArray[np.bool_], w: FloatArray | None, searched: Rows, fewest: int
) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return regions that some rows suggest: words, and whether each row is inside, (n,).

    They are the leaves of a small tree. Every row is in one of them.

    Parameters
    ----------
    table : Table
        Features of n rows.
    event : (n,) ndarray of bool
    w : (n,) ndarray or None
        Weights.
    searched : ndarray of int
        Numbers of the rows that the tree is grown on.
    fewest : int
        Number of searched rows in a region, at least.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.features import Table, learn_regions
    >>> rng = np.random.default_rng(0)
    >>> x = rng.integers(100, size=1000) / 100
    >>> event = rng.uniform(size=1000) < np.where(x < 0.5, 0.9, 0.2)
    >>> found = learn_regions(Table.read({"x": x}, 1000), event, None, np.arange(500), 20)
    >>> [words for words, _ in found]
    ['x <= 0.49', 'x > 0.49']
    """
    from sklearn.tree import DecisionTreeClassifier

    weight = None if w is None else w[searched]
    target = event[searched].astype(np.float64)
    features = list(_ordered(table, target, weight, searched))
    codes = np.column_stack([feature.codes for feature in features])
    # Twice the gain in log likelihood, of which the tree counts bits per row, is chi-squared.
    gain = (_CHI_SQUARED + 2.0 * math.log(len(features))) / (2.0 * math.log(2.0))
    model: Any = DecisionTreeClassifier(
        criterion="log_loss",
        max_leaf_nodes=_MOST_REGIONS,
        min_samples_leaf=max(fewest, round(_LEAST_SHARE * len(searched))),
        min_impurity_decrease=gain / len(searched),
        random_state=0,
    )
    model.fit(codes[searched], target, sample_weight=weight)
    leaf = model.apply(codes)
    rules = _leaves(model.tree_, tuple(_Range(0, feature.last) for feature in features))
    return [
        (_words(features, ranges) or EVERYWHERE, leaf == node)
        for node, ranges in sorted(rules, key=lambda rule: rule[0])
    ]


@dataclass(frozen=True)
class _Range:
    """Codes of one feature from `first` to `last`, and whether missing values belong to it."""

    first: int
    last: int
    missing: bool = True


Ranges = tuple[_Range, ...]


@dataclass(frozen=True, eq=False)
class _Feature(ABC):
    """A column whose distinct values are numbered 0, 1, ..., `last`, so that trees can cut it."""

    column: Column
    codes: FloatArray
    last: int

    @property
    def name(self) -> str:
        return shortened(printable(self.column.name), _LONGEST_NAME)

    def words(self, kept: _Range) -> str:
        """Return the condition on this feature; nothing if it has none."""
        every = (kept.first, kept.last) == (0, self.last)
        has_missing = bool(np.isnan(self.codes).any())
        if every and (kept.missing or not has_missing):
            return ""
        if every or kept.first > kept.last:
            return f"{self.name} is {'not ' if every else ''}missing"
        return self._condition(kept) + (" (or missing)" if has_missing and kept.missing else "")

    @abstractmethod
    def _condition(self, kept: _Range) -> str:
        """Return the condition that not all values fulfil."""


@dataclass(frozen=True, eq=False)
class _Number(_Feature):
    """Numbers or times: `values` are the distinct ones, increasing."""

    values: FloatArray

    def _condition(self, kept: _Range) -> str:
        if kept.first == kept.last and len(self.values) > 2:
            return f"{self.name} is {self.column.show(self.values[kept.first])}"
        low = "" if kept.first == 0 else self._between(kept.first - 1)
        high = "" if kept.last == self.last else self._between(kept.last)
        if low and high:
            return f"{low} < {self.name} <= {high}"
        return f"{self.name} <= {high}" if high else f"{self.name} > {low}"

    def _between(self, k: int) -> str:
        """Return the number with the fewest digits from values[k] to below values[k + 1]."""
        if self.column.is_time:
            return self.column.show(self.values[k])
        below, above = float(self.values[k]), float(self.values[k + 1])
        middle = below + 0.5 * (above - below)
        if below <= 0.0 < above:
            return "0"
        for digits in range(1, 18):
            step = 10.0 ** (math.floor(math.log10(abs(middle))) + 1 - digits)
            for steps in (round(middle / step), math.floor(middle / step)):
                text = f"{float(f'{steps * step:.{digits}g}'):.15g}"
                if below <= float(text) < above:
                    return text
        return repr(below)


@dataclass(frozen=True, eq=False)
class _Category(_Feature):
    """Categories: `named` are the labels of each code; rare ones are one code without a label."""

    named: tuple[str | None, ...]

    def _condition(self, kept: _Range) -> str:
        inside = self.named[kept.first : kept.last + 1]
        outside = self.named[: kept.first] + self.named[kept.last + 1 :]
        negated = len(outside) < len(inside)
        shown = outside if negated else inside
        labels = sorted(shortened(printable(label), _LONGEST_NAME) for label in shown if label)
        names = [f"'{label}'" for label in labels[:_MOST_NAMED]]
        names += [f"{len(labels) - _MOST_NAMED} others"] if len(labels) > _MOST_NAMED else []
        names += ["a rare value"] if None in shown else []
        return f"{self.name} is {'not ' if negated else ''}{_or(names)}"


def _or(names: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _ordered(
    table: Table, target: FloatArray, w: FloatArray | None, searched: Rows
) -> Iterator[_Feature]:
    """Yield the columns with their values in order; that of categories is the share of the event.

    In this order one cut finds the best division of the categories in two.
    """
    for column, values in zip(table.columns, table.values.T, strict=True):
        missing = np.isnan(values)
        codes = np.full(len(values), np.nan)
        distinct, codes[~missing] = np.unique(values[~missing], return_inverse=True)
        last = max(len(distinct) - 1, 0)
        if column.labels is None:
            yield _Number(column, codes, last, distinct)
            continue
        m = len(column.labels)
        seen = np.flatnonzero(~missing[searched])
        at = values[searched][seen].astype(np.intp)
        weight = np.ones(len(seen)) if w is None else w[seen]
        rows = np.bincount(at, minlength=m)
        kept = np.flatnonzero(rows >= _FEWEST_OF_CATEGORY)
        mass = np.bincount(at, weight, m)
        events = np.bincount(at, weight * target[seen], m)
        shares = events[kept] / np.maximum(mass[kept], np.finfo(float).tiny)
        groups: list[str | None] = [column.labels[i] for i in kept]
        place = np.full(m, len(kept))
        place[kept] = np.arange(len(kept))
        if len(kept) < m:
            shares = np.append(shares, float(np.average(target, weights=w)))
            groups.append(None)
        order = np.argsort(shares, kind="stable")
        rank = np.empty(len(order))
        rank[order] = np.arange(len(order))
        codes[~missing] = rank[place[values[~missing].astype(np.intp)]]
        named = tuple(groups[i] for i in order)
        yield _Category(column, codes, len(named) - 1, named)


def _leaves(tree: Any, every: Ranges) -> Iterator[tuple[int, Ranges]]:
    """Yield the leaves of a tree, each with the range of every feature."""
    below = [(0, every)]
    while below:
        node, ranges = below.pop()
        left, right = int(tree.children_left[node]), int(tree.children_right[node])
        if left < 0:
            yield node, ranges
            continue
        j, cut = int(tree.feature[node]), float(tree.threshold[node])
        old, left_missing = ranges[j], bool(tree.missing_go_to_left[node])
        # A cut at infinity is between the known and the missing values.
        edge = old.last if np.isinf(cut) else int(np.floor(cut))
        parts = (
            (left, replace(old, last=edge, missing=old.missing and left_missing)),
            (right, replace(old, first=edge + 1, missing=old.missing and not left_missing)),
        )
        below += [(child, (*ranges[:j], part, *ranges[j + 1 :])) for child, part in parts]


def _words(features: list[_Feature], ranges: Ranges) -> str:
    pairs = zip(features, ranges, strict=True)
    return " and ".join(filter(None, (feature.words(kept) for feature, kept in pairs)))
