"""A small set of our own in place of the eight, and no way to the internet."""

import hashlib
from urllib.error import URLError

import numpy as np
import pytest
import sklearn.datasets

from trueline.datasets import _sets

CSV = b"size,kind,target\n1.5,4,0.0\n2.5,8,-1.25\n0.1,4,3.0\n"
TABLE = np.array([[1.5, 4.0, 0.0], [2.5, 8.0, -1.25], [0.1, 4.0, 3.0]])


def make(**changes):
    known = {
        "name": "tiny",
        "rows": 3,
        "features": 2,
        "target": "height",
        "source": "us",
        "licence": "not stated",
        "notes": "",
        "openml_name": "tiny-1",
        "openml_id": 7,
        "file_sum": hashlib.sha256(CSV).hexdigest(),
        "values_sum": hashlib.sha256(TABLE.astype("<f8").tobytes()).hexdigest(),
    }
    return _sets.Info(**{**known, **changes})


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    """Give scikit-learn a data home of its own, and OpenML no answer."""
    asked = []

    def fetch_openml(**options):
        asked.append(options)
        raise URLError("no way out")

    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "home"))
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return asked


@pytest.fixture
def tiny(monkeypatch):
    """Make the set `tiny` known, and nowhere to be found."""
    monkeypatch.delenv("TRUELINE_DATA", raising=False)
    monkeypatch.setitem(_sets.SETS, "tiny", make())


@pytest.fixture
def folder(tiny, monkeypatch, tmp_path):
    """The folder that TRUELINE_DATA names, with the set in it."""
    (tmp_path / "data" / "uci").mkdir(parents=True)
    (tmp_path / "data" / "uci" / "tiny.csv").write_bytes(CSV)
    monkeypatch.setenv("TRUELINE_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def cache(tmp_path):
    """Where the cache has the set."""
    return tmp_path / "home" / "trueline" / "tiny.csv"
