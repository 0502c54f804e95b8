"""The pictures of Table 1: calibration curves of a model, one panel per data set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from reproduce.cells import Cell
from reproduce.pictures import draw_curves
from reproduce.table1.cells import HONEST, TITLES, VARIANTS

_DRAWN = {variant: VARIANTS[variant] for variant in ("before", "training", *HONEST)}


def draw(path: Path, cells: Sequence[Cell], model: str) -> None:
    """Draw the calibration curves of a model and write them as PNG."""
    title = f"{TITLES[model]}: calibration on test rows"
    draw_curves(path, cells, _DRAWN, worth=rows_worth, title=title)


def rows_worth(cell: Cell) -> float:
    """Return the number of independent rows that the test rows of all splits are worth.

    S splits test T of N rows each. A row is tested in Binomial(S, q = T / N) of them, which is its
    weight in the mean curve. Kish's effective number of rows, with the expected sum of the squared
    weights, is T / (q + (1 - q) / S).
    """
    n_test = cell.size("n_test")
    share = n_test / (n_test + cell.size("n_train"))
    return n_test / (share + (1.0 - share) / cell.splits)
