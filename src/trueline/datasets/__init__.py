"""The eight data sets of Table 1 of the paper, and the daily sales that it forecasts.

>>> from trueline import datasets
>>> datasets.names()
['mpg', 'auto', 'crime', 'kinematics', 'stocks', 'cpu', 'bank', 'wine']
"""

from trueline.datasets._load import Dataset, DatasetError, load
from trueline.datasets._sales import Sales, load_sales
from trueline.datasets._sets import Info, info, names

__all__ = ["Dataset", "DatasetError", "Info", "Sales", "info", "load", "load_sales", "names"]
