"""The data sets of the benchmark, and the scores that others published for half of them.

The sets of CLEAR come with its own results for each seed. Its test rows are 20% of the rows, and
its methods train and calibrate on the others, as ours do.
"""

from __future__ import annotations

import csv
import gzip
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from trueline import datasets

#: SHA-256 of the files of CLEAR.
_CLEAR = {
    "airfoil": "fbfc411d80c18f37cf628b8a6bc75b96a4c969c27aa79fa2c976e9604fa578c4",
    "ca_housing": "0b907f7ff2270514a92ce39dd208158f7acb909bc5f24a31f184dd21f7063427",
    "computer": "9bf3f4824c0f71d86ef3989d50725de90599c68917398618f46d986ceaf04444",
    "energy_efficiency": "4e4ccdf4a702e5accb2a4b0e183c20d924b1538dc01de13c9a280cfd6db6e8aa",
    "insurance": "809d8c901fb8a9d05cdaee1c88ad6c26dd65e0ec0eeb6da0cdbef7a19951a2e7",
    "parkinsons": "14b38f491b996a038acfe63ccf30650b853882da5153d7203b3589322b6f5f96",
    "powerplant": "5d81738bef1f33d8e85ccdfc05a6012aeb6ee30c883cc5d748c7bca82b08d97d",
    "sulfur": "bacf29c08ef953495c3a053c0e6b0c25705b4c4526c72a8480858201960da0a3",
}
_PUBLISHED = "defe6e83a108e5f8e987773423ae4a89209607878352b6b4a1bc8e9cc09fd173"
_SOURCE = "part of the public repository Unco3892/clear"
_REMEDY = "The files are its data sets as CSV, the target last, and a table of its results"
# Seed i of CLEAR splits with this number plus i.
_FIRST_SEED = 777
_TEST_SHARE = 0.2

CLEAR = tuple(_CLEAR)
UCI = datasets.names()


class Rows(NamedTuple):
    """Features and outcomes of training and test rows."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.float64]


def rows_of(name: str, seed: int) -> Rows:
    """Return the rows of a split: for a set of CLEAR exactly its test rows."""
    X, y = table(name)
    state = _FIRST_SEED + seed if name in _CLEAR else seed
    X, X_test, y, y_test = train_test_split(X, y, test_size=_TEST_SHARE, random_state=state)
    return Rows(X, y, X_test, y_test)


def table(name: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the features and the outcomes of all rows of a set."""
    if name not in _CLEAR:
        data = datasets.load(name)
        return data.X, data.y
    lines = gzip.decompress(_read(f"{name}.csv.gz", _CLEAR[name])).decode().splitlines()
    values = np.loadtxt(lines, delimiter=",", skiprows=1, ndmin=2)
    return values[:, :-1], values[:, -1]


class Published(NamedTuple):
    """Scores of a method on a set by seed: that of its variant with the lowest mean score."""

    variant: str
    by_seed: Mapping[int, float]


def published(name: str, method: str, metric: str = "intervalscoreloss") -> Published:
    """Return the published scores of a method of CLEAR on one of its sets."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for row in csv.DictReader(_read("published.csv", _PUBLISHED).decode().splitlines()):
        if (row["dataset"], row["method"], row["metric"]) == (name, method, metric):
            found[row["variant"]][int(row["seed"])] = float(row["value"])
    best = min(found, key=lambda variant: np.mean(list(found[variant].values())))
    return Published(best, found[best])


def _read(file: str, checksum: str) -> bytes:
    return datasets.read_data_file(f"clear/{file}", checksum, source=_SOURCE, remedy=_REMEDY)
