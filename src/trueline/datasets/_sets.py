"""The data sets: their sources, licences and checksums."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

# The licences that the sources state.
_UCI = "CC BY 4.0, by the policy of the UCI repository"
_UNKNOWN = "not stated"


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
    openml_name : str
        Its name on OpenML.
    openml_id : int
        Its id on OpenML.

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
    identifiers: tuple[str, ...] = field(default=(), repr=False)
    gaps: Literal["rows", "columns"] = field(default="rows", repr=False)
    # SHA-256 of the file, and of its values as little-endian float64, row by row.
    file_sum: str = field(default="", repr=False)
    values_sum: str = field(default="", repr=False)

    def __repr__(self) -> str:
        about = f"{self.name:<11} {self.rows:>5} x {self.features:<3} {self.target:<20}"
        notes = f"; {self.notes}" if self.notes else ""
        return (
            f"{about} {self.source}; OpenML {self.openml_name} ({self.openml_id}); "
            f"licence: {self.licence}{notes}"
        )


SETS: dict[str, Info] = {
    known.name: known
    for known in (
        Info(
            "mpg",
            392,
            7,
            "mpg",
            "UCI Auto MPG",
            _UCI,
            "6 rows without horsepower and the names of the cars are left out",
            "autoMpg",
            196,
            file_sum="ff246b8e97657c44feaee01cad2c76fabc7181902fe24a0ec7e1fb9f5b49b4b1",
            values_sum="ae2460f71f1ad1840d1d006c3179155e59e7e06cd5d42947b730b4e166ca2b31",
        ),
        Info(
            "auto",
            159,
            15,
            "price",
            "UCI Automobile (imports-85)",
            _UCI,
            "numeric columns of the rows that are complete",
            "autoPrice",
            207,
            file_sum="aa3add31eb6413803be16ed36fc2379843cb4873fdf788919520dce5bf89b4ea",
            values_sum="83ce0b90d3d9aed05897ba8b8bc3bb62cd32b7f6df4a6621c07fdb014a7133e0",
        ),
        Info(
            "crime",
            1994,
            99,
            "ViolentCrimesPerPop",
            "UCI Communities and Crime",
            _UCI,
            "5 columns of identifiers and 23 with gaps are left out; 10 targets are 0",
            "us_crime",
            315,
            identifiers=("state", "county", "community", "communityname", "fold"),
            gaps="columns",
            file_sum="308444bb857e6e0fc32a64e55f3f5635749d22098131a594f97d2669385cc577",
            values_sum="5737ad867c062617f1361e590d39e403471c445c38640ef6226ba5dcabf50398",
        ),
        Info(
            "kinematics",
            8192,
            8,
            "y",
            "DELVE kin8nm",
            _UNKNOWN,
            "a simulated robot arm",
            "kin8nm",
            189,
            file_sum="239699ff08272cf9a1fd23d40ae3f23a8cb260090f52d87939a37de2a929dcc7",
            values_sum="7fad37438fc1228ed099177766b084fb5577bf7457d7a6460f8d0389b21681ab",
        ),
        Info(
            "stocks",
            950,
            9,
            "company10",
            "StatLib stock",
            _UNKNOWN,
            "rows are consecutive trading days, so a random split is too optimistic",
            "stock",
            223,
            file_sum="1eaddb2390aa06c066f0369cf4981dd6c6ca410c9a31e7a8ff695c5a12b7008e",
            values_sum="60efdcaa4a2b0f8b2c26872c456b163d1aff61d2369bf10c8e2dece5b3bdf4bc",
        ),
        Info(
            "cpu",
            209,
            6,
            "PRP",
            "UCI Computer Hardware",
            _UCI,
            "vendor, model and the published estimate ERP are left out",
            "machine_cpu",
            230,
            file_sum="5dea3d6a6b6f8dca9dd47c70510e61466c47b6ee3eba02d3852de75da10b07f1",
            values_sum="e4fd28a2b9ac0b1a109ab36e2c3b5e958a506ccc712cf75804772202829b2631",
        ),
        Info(
            "bank",
            8192,
            8,
            "rej",
            "DELVE bank8FM",
            _UNKNOWN,
            "simulated queues of customers; 114 targets are 0",
            "bank8FM",
            572,
            file_sum="20664eebeb28f9aa10a6c948cea6ca953f391a1c8b8094f44a9decd1720566fc",
            values_sum="5c2bed7ef7664295e2bd2f17af48cbfbc6786235981f257d776c889e1f05795a",
        ),
        Info(
            "wine",
            1599,
            11,
            "quality",
            "UCI Wine Quality, red",
            _UCI,
            "6 levels of quality, hence ties; 240 rows are duplicates",
            "wine-quality-red",
            40691,
            file_sum="a196a73370e2ce73dbf8947b077f05bb829dd004fb20f65bd89951531c32c7ea",
            values_sum="d4f6a6d672e0ee31d41fdd93b4b58985b45a31f2f971499c18137c42229278ac",
        ),
    )
}


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

    Returns
    -------
    list of Info

    Examples
    --------
    >>> from trueline import datasets
    >>> [(known.name, known.rows, known.features) for known in datasets.info()][:2]
    [('mpg', 392, 7), ('auto', 159, 15)]
    >>> datasets.info()[3]
    kinematics   8192 x 8   y  DELVE kin8nm; OpenML kin8nm (189); licence: not stated; ...
    """
    return list(SETS.values())
