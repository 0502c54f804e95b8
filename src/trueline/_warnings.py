"""Warnings once per call rather than once per chunk."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from trueline._messages import Part
from trueline._validation import CalibrationWarning, UnknownGroupsWarning

# Warnings with the numbers of a chunk all differ; the first few are enough.
_MOST = 5


@contextmanager
def each_warning_once() -> Iterator[None]:
    """Hold warnings back, and give each different one once at the end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # Every chunk repeats this warning; callers name the unknown groups once, at the end.
        warnings.simplefilter("ignore", UnknownGroupsWarning)
        yield
    different: dict[str, Warning | str] = {}
    for warning in caught:
        different.setdefault(str(warning.message), warning.message)
    for message in list(different.values())[:_MOST]:
        warnings.warn(message, stacklevel=4)


def warn(*parts: Part) -> None:
    """Warn that a result is weaker than it looks."""
    warnings.warn(CalibrationWarning(*parts), stacklevel=2)
