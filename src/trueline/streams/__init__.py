"""Recalibrate a stream of outcomes, row by row."""

from trueline.streams._alarm import Drift
from trueline.streams._journal import Journal
from trueline.streams._online import Online

__all__ = ["Drift", "Journal", "Online"]
