"""Tables of features of any kind, read as numbers, and what trees and slabs tell of them."""

from trueline.features._bagged_trees import (
    MOST_DRAWN,
    BaggedTrees,
    Counts,
    Features,
    Tree,
    tree_features,
)
from trueline.features._chance import held_out_chance
from trueline.features._columns import (
    EMPTY,
    MISSING,
    Parts,
    categories,
    is_continuous,
    read_columns,
)
from trueline.features._given_x import FEWEST_ROWS, Found, Mean, chance_given_x
from trueline.features._reader import FeatureReader, as_features
from trueline.features._regions import EVERYWHERE, learn_regions
from trueline.features._slabs import Slab, directions, worst_slab
from trueline.features._table import Column, Table

__all__ = [
    "EMPTY",
    "EVERYWHERE",
    "FEWEST_ROWS",
    "MISSING",
    "MOST_DRAWN",
    "BaggedTrees",
    "Column",
    "Counts",
    "FeatureReader",
    "Features",
    "Found",
    "Mean",
    "Parts",
    "Slab",
    "Table",
    "Tree",
    "as_features",
    "categories",
    "chance_given_x",
    "directions",
    "held_out_chance",
    "is_continuous",
    "learn_regions",
    "read_columns",
    "tree_features",
    "worst_slab",
]
