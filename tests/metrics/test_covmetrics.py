"""ERT and the worst slab agree with the numbers of covmetrics 0.1.2 on the same rows."""

import csv
from pathlib import Path

import numpy as np
import pytest

from tests.metrics import covmetrics_rows
from trueline.features import Table, chance_given_x, directions, worst_slab

# The columns beside the law: its command is in covmetrics_rows.py.
THEIRS = {
    row.pop("law"): {name: float(value) for name, value in row.items()}
    for row in csv.DictReader(Path(__file__).with_name("covmetrics.csv").read_text().splitlines())
}


@pytest.mark.parametrize("law", covmetrics_rows.LAWS)
def test_results_agree_within_noise(law):
    X, inside, chance = covmetrics_rows.rows(law)
    n, c, theirs = len(X), covmetrics_rows.COVERAGE, THEIRS[law]
    found = chance_given_x(inside, Table.read(X, n), None, c, np.random.default_rng(0))
    ours = {"ert": found.l1, "ert_l2": found.l2, "ert_kl": found.kl}
    for name, mean in ours.items():
        assert abs(mean.value - theirs[name]) < 3.0 * mean.error, name
    assert found.l1.value < np.abs(chance - c).mean() + 3.0 * found.l1.error
    # They search all rows, so that their slab is the worst one by chance as well.
    along = directions(X.shape[1], 300, np.random.default_rng(0))
    slab = worst_slab(X, ~inside, None, along, 0.1)
    assert abs((1.0 - slab.share) - theirs["worst_slab"]) < 0.02
    assert found.slab.value > theirs["worst_slab"] - 2.0 * found.slab.error
