"""Tables of features of any kind, read as numbers, and trees that are grown on them."""

from trueline.features._bagged_trees import (
    MOST_DRAWN,
    BaggedTrees,
    Counts,
    Features,
    Tree,
    tree_features,
)
from trueline.features._reader import FeatureReader, as_features

__all__ = [
    "MOST_DRAWN",
    "BaggedTrees",
    "Counts",
    "FeatureReader",
    "Features",
    "Tree",
    "as_features",
    "tree_features",
]
