"""The four lines of shell in the README run as they stand, in an empty folder."""

import re
from pathlib import Path

import numpy as np
from pyarrow import csv

from tests.test_docs import run_shell

README = Path(__file__).parents[2] / "README.md"


def test_the_four_lines_of_shell(tmp_path):
    blocks = re.findall(r"```sh\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    (lines,) = [block for block in blocks if "trueline evaluate" in block]
    assert len(lines.splitlines()) == 4
    assert "too narrow" in run_shell(lines, tmp_path)
    table = csv.read_csv(tmp_path / "calibrated.csv").to_pydict()
    y, lower, upper = (np.array(table[name]) for name in ("y", "lower_0.9", "upper_0.9"))
    # 2,000 rows calibrate and 1,000 test: the standard error is 0.012, and this four of them.
    assert y.size == 1000
    assert abs(((lower <= y) & (y <= upper)).mean() - 0.9) < 0.047
