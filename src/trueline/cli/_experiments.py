"""The experiments that ``trueline reproduce`` runs, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Experiment(NamedTuple):
    """What an experiment shows, and the function that runs and prints it."""

    summary: str
    run: Callable[[], None]


EXPERIMENTS: dict[str, Experiment] = {}
