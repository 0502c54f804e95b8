"""The eight data sets of Table 1 of the paper, daily sales, and images with depth.

>>> from trueline import datasets
>>> datasets.names()
['mpg', 'auto', 'crime', 'kinematics', 'stocks', 'cpu', 'bank', 'wine']
"""

from trueline.datasets._depth import DepthImages, load_depth, read_make3d
from trueline.datasets._load import Dataset, DatasetError, load
from trueline.datasets._sales import Sales, load_sales
from trueline.datasets._sets import Info, info, names

__all__ = [
    "Dataset",
    "DatasetError",
    "DepthImages",
    "Info",
    "Sales",
    "info",
    "load",
    "load_depth",
    "load_sales",
    "names",
    "read_make3d",
]
