"""Regression trees on bootstrap draws, which know the rows that each has seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray
from trueline.features._reader import as_features

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeRegressor

Features = NDArray[np.float32]
Counts = NDArray[np.intp]

# Largest number of rows drawn for one tree; more would make trees deeper, not quantiles better.
MOST_DRAWN = 20_000
_ALL = slice(None)
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree, and for each column of categories the place of each category in its order.

    The last place is that of categories that were not drawn.
    """

    grown: DecisionTreeRegressor
    places: dict[int, Features]

    def ordered(self, X: Features) -> Features:
        """Return the features with the places of the categories in their columns."""
        if not self.places:
            return X
        X = X.copy()
        for j, place in self.places.items():
            known = np.flatnonzero(~np.isnan(X[:, j]))
            X[known, j] = place.take(X[known, j].astype(np.intp), mode="clip")
        return X

    def leaves(self, X: Features) -> NDArray[np.intp]:
        """Return the number of the leaf of each row."""
        return self.grown.tree_.apply(self.ordered(X))

    def predict(self, X: Features) -> FloatArray:
        """Return the mean of the leaf of each row."""
        return self.grown.tree_.predict(self.ordered(X)).ravel()

    @property
    def n_nodes(self) -> int:
        """Number of nodes; leaves are numbered among them."""
        return int(self.grown.tree_.node_count)


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

    Each tree puts the categories of a column in the order of their mean outcome, among the rows
    that it drew, so that one cut separates large means from small ones. A row that was not drawn
    has no part in the order.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.features import BaggedTrees
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
    trees: list[Tree] = field(default_factory=list, init=False, repr=False)
    # One bit per row and tree, because integers would dominate the memory of the forest.
    _drawn: list[NDArray[np.uint8]] = field(default_factory=list, init=False, repr=False)
    _n: int = field(init=False, repr=False)

    def fit(
        self,
        X: Features,
        target: FloatArray,
        w: FloatArray | None,
        note: Callable[[Tree, Counts], None] | None = None,
        *,
        out_of_bag: bool = True,
        categorical: Sequence[int] = (),
        order_by: Sequence[FloatArray] | None = None,
    ) -> Self:
        """Grow the trees; `note` is called with each tree and the number of draws of each row.

        Parameters
        ----------
        out_of_bag : bool, default True
            If not, only the trees that new rows use are grown.
        categorical : sequence of int
            Columns of X that hold categories, numbered 0, 1, ...
        order_by : sequence of (n,) arrays, optional
            By whose means trees order the categories, one after the other; by default `target`.
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
        goals = [target] if order_by is None else order_by
        for t in range(math.ceil(self.n_estimators * kept)):
            drawn = self.rng.choice(n, draws, p=chance)
            counts = np.bincount(drawn, minlength=n)
            grown = DecisionTreeRegressor(
                min_samples_leaf=self.min_samples_leaf,
                max_features=self.max_features,
                splitter=self.splitter,
                random_state=int(self.rng.integers(2**31)),
            )
            rows = np.flatnonzero(counts)
            times, goal = counts[rows].astype(np.float64), goals[t % len(goals)][rows]
            places = {j: _places(X[rows, j], goal, times) for j in categorical}
            tree = Tree(grown, places)
            grown.fit(tree.ordered(X[rows]), target[rows], sample_weight=times, check_input=missing)
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
            total += tree.predict(X)
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
                total[at] += tree.predict(X[at])
                unseen[at] += 1
        return np.where(unseen > 0, total / np.maximum(unseen, 1), otherwise)


def _places(codes: Features, goal: FloatArray, times: FloatArray) -> Features:
    """Return the mean of the goal in each category, drawn towards the mean of all by one row."""
    known = ~np.isnan(codes)
    at, weight = codes[known].astype(np.intp), times[known]
    mean = np.average(goal, weights=times)
    size = int(at.max()) + 2 if len(at) else 1
    total = np.bincount(at, weight * goal[known], size) + mean
    return (total / (np.bincount(at, weight, size) + 1.0)).astype(np.float32)


def tree_features(X: Any) -> Features:
    """Convert a table of numbers to the contiguous float32 array that trees read.

    Examples
    --------
    >>> from trueline.features import tree_features
    >>> tree_features([[1e300, 0.5]])
    array([[3.4028235e+38, 5.0000000e-01]], dtype=float32)
    """
    return np.ascontiguousarray(np.clip(as_features(X), -_LARGEST, _LARGEST), dtype=np.float32)
