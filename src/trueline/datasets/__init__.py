"""The eight UCI data sets of Table 1 of the paper.

>>> from trueline import datasets
>>> datasets.names()
['mpg', 'auto', 'crime', 'kinematics', 'stocks', 'cpu', 'bank', 'wine']
"""

from trueline.datasets._load import Dataset, DatasetError, load, read_data_file
from trueline.datasets._sets import Info, info, names

__all__ = ["Dataset", "DatasetError", "Info", "info", "load", "names", "read_data_file"]
