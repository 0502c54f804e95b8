"""Scores of rows: as they come, sorted, merged, compressed, and the law that they give."""

from trueline.scores._cells import Cells, round_scores
from trueline.scores._empirical_law import empirical_law
from trueline.scores._intervals import Intervals, expected_distances
from trueline.scores._rows import ScoreRows, check_outcomes
from trueline.scores._sorted import (
    KINDS,
    Compressed,
    Exact,
    Key,
    Scores,
    collapse,
    combine,
    combine_all,
    sum_of_squares,
)

__all__ = [
    "KINDS",
    "Cells",
    "Compressed",
    "Exact",
    "Intervals",
    "Key",
    "ScoreRows",
    "Scores",
    "check_outcomes",
    "collapse",
    "combine",
    "combine_all",
    "empirical_law",
    "expected_distances",
    "round_scores",
    "sum_of_squares",
]
