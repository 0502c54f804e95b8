"""A folder with files of forecasts, and the command line in it."""

import io
import sys
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from trueline.cli import main


class Run(NamedTuple):
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder of one's own, so that messages name files without it."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def trueline(folder, monkeypatch, capsys):
    """Run a command line such as ``trueline("fit", "past.csv")``, with standard input if given."""

    def run(*arguments: str, stdin: bytes = b"") -> Run:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        monkeypatch.setattr(sys, "argv", ["trueline", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return Run(int(stopped.value.code or 0), printed.out, printed.err)

    return run


@pytest.fixture
def past(folder):
    """Forecasts that are too sure: past.csv, past.parquet, and the columns."""
    rng = np.random.default_rng(0)
    n = 2000
    mean, std = rng.normal(size=n), rng.uniform(0.5, 2.0, size=n)
    region = np.where(np.arange(n) % 3 == 0, "south", "north")
    y = mean + 3.0 * std * rng.normal(size=n)
    table = pa.table({"y": y, "mean": mean, "std": std, "region": region})
    csv.write_csv(table, "past.csv")
    parquet.write_table(table, "past.parquet")
    return {"y": y, "mean": mean, "std": std, "region": region}
