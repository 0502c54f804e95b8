"""Recalibrate a stream of outcomes, row by row."""

from trueline.streams._drift import Drift
from trueline.streams._online import Online

__all__ = ["Drift", "Online"]
