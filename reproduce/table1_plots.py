"""The pictures of Table 1: calibration curves of a model, a panel a set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reproduce import curves
from reproduce.table1_cells import HONEST, TITLES, VARIANTS, Cell, cells
from trueline._validation import FloatArray

_DRAWN = {variant: VARIANTS[variant] for variant in ("before", "training", *HONEST)}


def draw(path: Path, records: Sequence[dict[str, Any]], model: str) -> None:
    """Draw the calibration curves of a model and write them as PNG."""
    title = f"{TITLES[model]}: calibration on test rows"
    curves.draw_curves(path, cells(records, model), _DRAWN, worth=rows_worth, title=title)


def band(cell: Cell) -> tuple[FloatArray, FloatArray]:
    """Band for the whole mean curve of a perfect forecaster, at the levels 0, 0.025, ..., 1."""
    return curves.band(rows_worth(cell))


def rows_worth(cell: Cell) -> float:
    """How many independent rows the tested ones are worth.

    S splits test T of N rows each. A row is in Binomial(S, q = T / N) of them and weighs as much
    in the mean curve; Kish's effective number of rows, with the expected sum of the squared
    weights, is T / (q + (1 - q) / S).
    """
    n_test = cell.size("n_test")
    share = n_test / (n_test + cell.size("n_train"))
    return n_test / (share + (1.0 - share) / cell.splits)
