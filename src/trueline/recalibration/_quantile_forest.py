"""A forest that predicts quantiles, out-of-bag ones for the rows of its fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trueline._validation import (
    FloatArray,
    NotFittedError,
    RandomState,
    generator,
    increasing_levels,
    vector,
    weights,
)
from trueline.features import (
    MOST_DRAWN,
    BaggedTrees,
    Counts,
    Features,
    Tree,
    tree_features,
)
from trueline.recalibration._shown import constructor_call

Codes = NDArray[np.int32]

# Numbers held at a time, which bounds the memory, and those that are sorted at a time.
_BLOCK = 1 << 20
_SMALL_BLOCK = 1 << 17
# Share of the rows drawn for each tree of a `QuantileForest`, and the fewest drawn.
_SHARE_DRAWN = 0.5
_FEWEST_DRAWN = 200
_ALL = slice(None)


@dataclass(eq=False, repr=False)
class QuantileForest:
    """Quantiles given x, from the values that share a leaf with x.

    Each leaf of each tree keeps a few equally spaced quantiles of the values in it. The values of
    all leaves that a row falls into are a sample of the law given x, whose quantiles are returned
    (Meinshausen, 2006, "Quantile Regression Forests", JMLR 7). For the rows of the fit,
    `out_of_bag_quantiles` uses only trees that did not see the row; new rows use as many trees, so
    that the quantiles of both are equally good.

    A split is the best of one random threshold per feature (Geurts, Ernst and Wehenkel, 2006,
    "Extremely randomized trees", Machine Learning 63), and each tree sees about 40% of the rows
    and at most 20,000. Such a tree costs a tenth of one with the best of all thresholds on a
    bootstrap draw, and the forest is as good.

    Parameters
    ----------
    n_estimators : int, default 200
        Number of trees of a forest whose trees draw as many rows as there are. As trees draw
        fewer, each row is left out by more of them, and fewer trees are grown: 122 of 200, of
        which new rows use 74.
    min_samples_leaf : int, default 5
        Smallest number of rows in a leaf.
    max_features : float, default 1.0
        Share of the features that each split looks at.
    n_leaf_values : int, default 8
        Number of quantiles kept per leaf.
    random_state : None, int or numpy.random.Generator

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.recalibration import QuantileForest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(2000, 1))
    >>> s = rng.normal(size=2000) * np.where(X[:, 0] < 0.5, 1.0, 5.0)
    >>> forest = QuantileForest(random_state=0).fit(X, s)
    >>> low, high = forest.predict_quantiles([[0.2], [0.8]], [0.1, 0.9]).T
    >>> bool(3.0 < (high - low)[1] / (high - low)[0] < 8.0)
    True
    """

    n_estimators: int = 200
    min_samples_leaf: int = 5
    max_features: float = 1.0
    n_leaf_values: int = 8
    random_state: RandomState = None
    _trees: BaggedTrees = field(init=False)
    _X: Features = field(init=False)
    _w: FloatArray | None = field(init=False)
    # The distinct values in increasing order, and the position among them of each row's value.
    _values: FloatArray = field(init=False)
    _codes: Codes = field(init=False)
    # Codes of the leaf values, one line per node of all trees, and the first line of each tree.
    _table: Codes = field(init=False)
    _first: list[int] = field(init=False)

    def __repr__(self) -> str:
        return constructor_call(self)

    def fit(
        self,
        X: ArrayLike,
        s: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        out_of_bag: bool = True,
        categorical: Sequence[int] = (),
    ) -> Self:
        """Grow the trees and fill their leaves.

        Parameters
        ----------
        X : (n, d) array-like
            Features; NaN is treated as a separate value.
        s : (n,) array-like
            Values to predict, finite.
        sample_weight : (n,) array-like, optional
            Rows are drawn in proportion to it.
        out_of_bag : bool, default True
            Whether `out_of_bag_quantiles` will be called. If not, a third of the trees is grown,
            which is the number that `predict_quantiles` uses in either case.
        categorical : sequence of int
            Columns of X that hold categories, numbered 0, 1, ... One half of the trees orders them
            by the mean of the values, the other half by their mean distance from the median.
        """
        for name in ("n_estimators", "min_samples_leaf", "n_leaf_values"):
            value = getattr(self, name)
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} is {value!r}; expected an integer of 1 or more.")
        if not 0.0 < self.max_features <= 1.0:
            raise ValueError(
                f"max_features is {self.max_features!r}; expected a share of the features, "
                f"above 0 and up to 1."
            )
        target = vector(s, "s")
        n = len(target)
        self._X = tree_features(X)
        if len(self._X) != n:
            raise ValueError(f"X has {len(self._X)} rows but s has {n}; expected the same number.")
        self._w = weights(sample_weight, n)
        self._values, codes = np.unique(target, return_inverse=True)
        self._codes = codes.astype(np.int32)
        # The first line stands for trees that are not used; its code sorts after all others.
        tables = [np.full((1, self.n_leaf_values), len(self._values), dtype=np.int32)]
        self._trees = BaggedTrees(
            int(self.n_estimators),
            int(self.min_samples_leaf),
            float(self.max_features),
            generator(self.random_state),
            min(max(math.ceil(_SHARE_DRAWN * n), _FEWEST_DRAWN), MOST_DRAWN),
            "random",
        ).fit(
            self._X,
            target,
            self._w,
            lambda tree, counts: tables.append(self._fill(tree, counts)),
            out_of_bag=out_of_bag,
            categorical=categorical,
            order_by=(target, np.abs(target - np.median(target))),
        )
        self._first = np.cumsum([len(table) for table in tables]).tolist()
        self._table = np.concatenate(tables)
        return self

    def _fill(self, tree: Tree, counts: Counts) -> Codes:
        """Return the codes of equally spaced quantiles of the values in each leaf of a tree."""
        rows = np.flatnonzero(counts)
        # The values of a leaf are next to each other, in increasing order, if node and code are
        # sorted as one number.
        keys = tree.leaves(self._X[rows]) << 32 | self._codes[rows]
        keys = np.repeat(keys, counts[rows])
        keys.sort()
        size = np.bincount(keys >> 32, minlength=tree.n_nodes)
        start = np.cumsum(size) - size
        share = (np.arange(self.n_leaf_values) + 0.5) / self.n_leaf_values
        place = start[:, None] + (share * size[:, None]).astype(np.intp)
        # Nodes that are no leaves are never read.
        return (keys & 0xFFFFFFFF).astype(np.int32).take(place, mode="clip")

    def predict_quantiles(self, X: ArrayLike, levels: ArrayLike) -> FloatArray:
        """Return quantiles of new rows with features X at increasing levels in (0, 1), (n, m)."""
        self._check_fitted()
        features = tree_features(X)
        if features.shape[1] != self._X.shape[1]:
            raise ValueError(
                f"X has {features.shape[1]} columns; expected {self._X.shape[1]}, as at fit."
            )
        return self._read(features, increasing_levels(levels, "levels"))

    def out_of_bag_quantiles(self, levels: ArrayLike, rows: slice = _ALL) -> FloatArray:
        """Return (n, m) quantiles of rows of the fit, each from the trees that did not see it.

        A row that every tree saw, which happens with few rows or trees, gets the quantiles of
        all rows.

        Parameters
        ----------
        levels : (m,) array-like
            Increasing, in (0, 1).
        rows : slice, default all
            The rows, if there is no memory for the quantiles of all rows.
        """
        self._check_fitted()
        start, stop, _ = rows.indices(len(self._X))
        return self._read(self._X[start:stop], increasing_levels(levels, "levels"), start)

    def _check_fitted(self) -> None:
        if not hasattr(self, "_table"):
            raise NotFittedError("QuantileForest is not fitted: call fit(X, s) first.")

    def _read(self, X: Features, q: FloatArray, first: int | None = None) -> FloatArray:
        """Return quantiles of new rows, or out-of-bag ones of the fitted rows from `first` on."""
        n_used = self._trees.n_used if first is None else len(self._trees.trees)
        trees, r = self._trees.trees[:n_used], int(self.n_leaf_values)
        values = np.append(self._values, np.nan)
        out = np.empty((len(X), len(q)))
        # A tree is read once for many rows, and then few rows are sorted at a time, so that either
        # step finds its numbers in the cache.
        for rows in _blocks(len(X), len(trees), _BLOCK):
            block = X[rows]
            lines = np.empty((len(trees), len(block)), dtype=np.intp)
            size = np.full(len(block), len(trees) * r)
            for t, tree in enumerate(trees):
                np.add(tree.leaves(block), self._first[t], out=lines[t])
                if first is not None:
                    seen = self._trees.saw(t, slice(first + rows.start, first + rows.stop))
                    lines[t, seen] = 0
                    size -= r * seen
            for few in _blocks(len(block), len(trees) * r, _SMALL_BLOCK):
                codes = self._table.take(lines[:, few].T, axis=0).reshape(-1, len(trees) * r)
                codes.sort(axis=1)
                out[rows][few] = _sorted_quantiles(codes, values, size[few], q)
            if not size.all():
                every = weighted_quantiles(self._values[self._codes], self._w, q)
                out[rows][size == 0] = every
        return out


def _blocks(n: int, width: int, most: int) -> Iterator[slice]:
    """Yield slices of rows that have at most `most` numbers, `width` per row."""
    step = max(most // width, 1)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _sorted_quantiles(
    codes: Codes, values: FloatArray, size: NDArray[np.intp], q: FloatArray
) -> FloatArray:
    """Return quantiles of the first `size` values of each row, linear between ranks.

    Codes are positions in `values`; those of each row are sorted.
    """
    if (size == size[0]).all():
        size = size[:1]
    last = np.maximum(size - 1, 0)[:, None]
    at = np.clip(size[:, None] * q - 0.5, 0.0, last)
    low = at.astype(np.intp)
    high = np.minimum(low + 1, last)
    if len(size) == 1:
        below, above = values[codes[:, low[0]]], values[codes[:, high[0]]]
    else:
        below, above = (values[np.take_along_axis(codes, i, axis=1)] for i in (low, high))
    return below + (at - low) * (above - below)


def weighted_quantiles(s: FloatArray, w: FloatArray | None, q: FloatArray) -> FloatArray:
    """Return the quantiles of all values at levels q."""
    order = np.argsort(s)
    total = np.cumsum(np.ones_like(s) if w is None else w[order])
    return s[order][np.searchsorted(total, q * total[-1])]
