"""The eight data sets of Table 1 of the paper, daily sales, and images with depth.

>>> from trueline import datasets
>>> datasets.names()
['mpg', 'auto', 'crime', 'kinematics', 'stocks', 'cpu', 'bank', 'wine']
"""

from trueline.datasets._load import Dataset, DatasetError, load
from trueline.datasets._sets import Info, info, names

__all__ = [
    "Dataset",
    "DatasetError",
    "Info",
    "info",
    "load",
    "names",
]
