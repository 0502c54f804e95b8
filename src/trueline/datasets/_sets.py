"""The data sets: their sources, licences and checksums."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal


@dataclass(frozen=True)
class Info:
    """A data set and its source.

    Attributes
    ----------
    name : str
        The name that `load` takes.
    rows, features : int
        Shape of X.
    target : str
        The name of the outcome.
    source : str
        Where it was published.
    licence : str
        "not stated" if we know of none.
    notes : str
        Rows or columns that are left out, and caveats.
    openml_name, openml_id : str, int
        Its name and its id on OpenML.

    Examples
    --------
    >>> from trueline import datasets
    >>> datasets.info()[0].target
    'mpg'
    """

    name: str
    rows: int
    features: int
    target: str
    source: str
    licence: str
    notes: str
    openml_name: str
    openml_id: int
    # Identifier columns, and whether rows or columns with missing values are removed.
    identifiers: tuple[str, ...] = ()
    gaps: Literal["rows", "columns"] = "rows"
    # SHA-256 of the file, and of its values as little-endian float64, row by row.
    file_sum: str = ""
    values_sum: str = ""

    def __repr__(self) -> str:
        about = f"{self.name:<11} {self.rows:>5} x {self.features:<3} {self.target:<20}"
        notes = f"; {self.notes}" if self.notes else ""
        return (
            f"{about} {self.source}; OpenML {self.openml_name} ({self.openml_id}); "
            f"licence: {self.licence}{notes}"
        )


def _read_sets() -> dict[str, Info]:
    """Read the table of data sets, in the order of the paper's Table 1."""
    table = resources.files("trueline.datasets").joinpath("sets.csv").read_text("utf-8")
    rows: list[dict[str, Any]] = list(csv.DictReader(table.splitlines()))
    for row in rows:
        row |= {name: int(row[name]) for name in ("rows", "features", "openml_id")}
        row["identifiers"] = tuple(row["identifiers"].split())
    return {row["name"]: Info(**row) for row in rows}


SETS = _read_sets()


def names() -> list[str]:
    """Names of the data sets, in the order of the paper's Table 1.

    Examples
    --------
    >>> from trueline import datasets
    >>> datasets.names()[:3]
    ['mpg', 'auto', 'crime']
    """
    return list(SETS)


def info() -> list[Info]:
    """Name, shape, target, source and licence of every data set.

    The data are not part of trueline; see `load`. The OpenML ids have not been tried, but `load`
    checks what it fetches, so a wrong id gives an error and never other data.

    Examples
    --------
    >>> from trueline import datasets
    >>> [(known.name, known.rows, known.features) for known in datasets.info()][:2]
    [('mpg', 392, 7), ('auto', 159, 15)]
    >>> datasets.info()[3]
    kinematics   8192 x 8   y  DELVE kin8nm; OpenML kin8nm (189); licence: not stated; ...
    """
    return list(SETS.values())
