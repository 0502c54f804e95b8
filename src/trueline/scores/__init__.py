"""Scores of rows: as they come, sorted, merged, compressed, and the law that they give."""

from trueline.scores._cells import Cells, round_scores
from trueline.scores._empirical_law import empirical_law
from trueline.scores._intervals import Intervals, expected_distances
from trueline.scores._own_mass import OwnMass, recalibrated
from trueline.scores._range import (
    MOST_SCORE,
    MOST_WEIGHT,
    check_total_weight,
    first_out_of_range,
    score_fault,
    sorted_are_in_range,
)
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
    "MOST_SCORE",
    "MOST_WEIGHT",
    "Cells",
    "Compressed",
    "Exact",
    "Intervals",
    "Key",
    "OwnMass",
    "ScoreRows",
    "Scores",
    "check_outcomes",
    "check_total_weight",
    "collapse",
    "combine",
    "combine_all",
    "empirical_law",
    "expected_distances",
    "first_out_of_range",
    "recalibrated",
    "round_scores",
    "score_fault",
    "sorted_are_in_range",
    "sum_of_squares",
]
