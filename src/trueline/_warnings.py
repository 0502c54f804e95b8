"""Warnings once a file rather than once a chunk."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from trueline._validation import CalibrationWarning

# Warnings differ where every chunk has its own numbers; more than these would say no more.
_MOST = 5


@contextmanager
def each_warning_once() -> Iterator[None]:
    """Hold warnings back, and give each different one once at the end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Of groups that a map does not know it says so in every chunk, by their numbers.
        warnings.filterwarnings("ignore", ".* were not there at fit", CalibrationWarning)
        yield
    told: dict[str, type[Warning]] = {}
    for warning in caught:
        told.setdefault(str(warning.message), warning.category)
    for text, category in list(told.items())[:_MOST]:
        warnings.warn(text, category, stacklevel=4)


def warn(text: str) -> None:
    """Warn that a result is weaker than it looks."""
    warnings.warn(text, CalibrationWarning, stacklevel=2)
