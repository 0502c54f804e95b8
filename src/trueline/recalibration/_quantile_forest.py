"""A forest that predicts quantiles, out-of-bag ones for the rows of its fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

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
from trueline.features import as_features
from trueline.recalibration._shown import constructor_call

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeRegressor

Features = NDArray[np.float32]
Counts = NDArray[np.intp]
Codes = NDArray[np.int32]

# Numbers held at a time, which bounds the memory, and those that are sorted at a time.
_BLOCK = 1 << 20
_SMALL_BLOCK = 1 << 17
# Largest number of rows drawn for one tree; more would make trees deeper, not quantiles better.
MOST_DRAWN = 20_000
# Share of the rows drawn for each tree of a `QuantileForest`, and the fewest drawn.
_SHARE_DRAWN = 0.5
_FEWEST_DRAWN = 200
_ALL = slice(None)
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(eq=False)
class BaggedTrees:
    """Regression trees on bootstrap draws, with the draws kept.

    scikit-learn's forests use sample weights in ways that differ between releases and do not
    expose the draws. Here a row is drawn in proportion to its weight, so that rows without weight
    are never drawn, and the trees that saw a row are known.

    About a third of the trees are out-of-bag for a row of the fit. A mean over all trees is less
    noisy than a mean over these, so intervals that are calibrated on out-of-bag predictions would
    be too wide for new rows. New rows therefore use as many trees as are out-of-bag for a row of
    the fit on average, ``n_used``. If trees draw few of many rows, fewer trees are grown.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.recalibration import BaggedTrees
    >>> X = np.linspace(0.0, 1.0, 200, dtype=np.float32)[:, None]
    >>> trees = BaggedTrees(50, 5, 1.0, np.random.default_rng(0)).fit(X, 3.0 * X[:, 0], None)
    >>> trees.predict(X[[100]]).round(1)
    array([1.5])
    """

    n_estimators: int
    min_samples_leaf: int
    max_features: float
    rng: np.random.Generator
    most_drawn: int = MOST_DRAWN
    splitter: str = "best"
    n_used: int = field(init=False, repr=False)
    trees: list[DecisionTreeRegressor] = field(default_factory=list, init=False, repr=False)
    # One bit per row and tree, because integers would dominate the memory of the forest.
    _drawn: list[NDArray[np.uint8]] = field(default_factory=list, init=False, repr=False)
    _n: int = field(init=False, repr=False)

    def fit(
        self,
        X: Features,
        target: FloatArray,
        w: FloatArray | None,
        note: Callable[[Any, Counts], None] | None = None,
        *,
        out_of_bag: bool = True,
    ) -> Self:
        """Grow the trees; `note` is called with each tree and the number of draws of each row.

        Without `out_of_bag` only the trees that new rows use are grown.
        """
        from sklearn.tree import DecisionTreeRegressor

        n = self._n = len(target)
        # With probabilities numpy draws other rows, even if all probabilities are equal.
        chance = None if w is None or (w == w[0]).all() else w / w.sum()
        unseen, draws = 0.0, min(n, self.most_drawn)
        # scikit-learn's checks take as long as a small tree; missing values need them.
        missing = bool(np.isnan(X).any())
        # A row is out-of-bag as often as if each tree drew n rows and left out a share exp(-1).
        kept = math.exp((draws / n if out_of_bag else 0.0) - 1.0)
        for _ in range(math.ceil(self.n_estimators * kept)):
            drawn = self.rng.choice(n, draws, p=chance)
            counts = np.bincount(drawn, minlength=n)
            tree = DecisionTreeRegressor(
                min_samples_leaf=self.min_samples_leaf,
                max_features=self.max_features,
                splitter=self.splitter,
                random_state=int(self.rng.integers(2**31)),
            )
            rows = np.flatnonzero(counts)
            tree.fit(
                X[rows],
                target[rows],
                sample_weight=counts[rows].astype(np.float64),
                check_input=missing,
            )
            self.trees.append(tree)
            self._drawn.append(np.packbits(counts > 0))
            unseen += float(np.average(counts == 0, weights=w))
            if note is not None:
                note(tree, counts)
        self.n_used = max(round(unseen), 1) if out_of_bag else len(self.trees)
        return self

    def saw(self, t: int, rows: slice = _ALL) -> NDArray[np.bool_]:
        """Whether tree t drew each of some rows of the fit."""
        start, stop, _ = rows.indices(self._n)
        some = np.unpackbits(self._drawn[t][start // 8 : (stop + 7) // 8])
        return some[start % 8 :][: stop - start].astype(bool)

    def predict(self, X: Features) -> FloatArray:
        """Return the mean over as many trees as are out-of-bag for a row of the fit, (n,)."""
        total = np.zeros(len(X))
        # The sum goes tree by tree, so that it does not depend on the other rows.
        for tree in self.trees[: self.n_used]:
            total += tree.tree_.predict(X).ravel()
        return total / self.n_used

    def predict_out_of_bag(self, X: Features, otherwise: float) -> FloatArray:
        """Return the mean over the trees that did not see each row of the fit, (n,).

        The few rows that every tree saw get the value `otherwise`.
        """
        total = np.zeros(self._n)
        unseen = np.zeros(self._n, dtype=np.intp)
        for t, tree in enumerate(self.trees):
            at = np.flatnonzero(~self.saw(t))
            if len(at):
                total[at] += tree.tree_.predict(X[at]).ravel()
                unseen[at] += 1
        return np.where(unseen > 0, total / np.maximum(unseen, 1), otherwise)


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
        )
        self._first = np.cumsum([len(table) for table in tables]).tolist()
        self._table = np.concatenate(tables)
        return self

    def _fill(self, tree: Any, counts: Counts) -> Codes:
        """Return the codes of equally spaced quantiles of the values in each leaf of a tree."""
        rows = np.flatnonzero(counts)
        # The values of a leaf are next to each other, in increasing order, if node and code are
        # sorted as one number.
        keys = tree.tree_.apply(self._X[rows]) << 32 | self._codes[rows]
        keys = np.repeat(keys, counts[rows])
        keys.sort()
        size = np.bincount(keys >> 32, minlength=tree.tree_.node_count)
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
                np.add(tree.tree_.apply(block), self._first[t], out=lines[t])
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


def tree_features(X: Any) -> Features:
    """Convert a table of numbers to the contiguous float32 array that trees read.

    Examples
    --------
    >>> from trueline.recalibration import tree_features
    >>> tree_features([[1e300, 0.5]])
    array([[3.4028235e+38, 5.0000000e-01]], dtype=float32)
    """
    return np.ascontiguousarray(np.clip(as_features(X), -_LARGEST, _LARGEST), dtype=np.float32)


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
