"""Log the diagnostics of a forecast to experiment trackers."""

from trueline.tracking._mlflow import log_mlflow
from trueline.tracking._scores import scores

__all__ = ["log_mlflow", "scores"]
