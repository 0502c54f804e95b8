"""Recalibrate and evaluate distributed data: Dask, Spark, and batches of arrays.

``trueline.clusters.dask`` and ``trueline.clusters.spark`` work on data frames of those libraries.
"""

from trueline.clusters import dask, spark
from trueline.clusters._batches import Batch, evaluate_batches, fit_batches

__all__ = ["Batch", "dask", "evaluate_batches", "fit_batches", "spark"]
