"""Rows on which results are compared with those of covmetrics 0.1.2, and how these were made.

    pip install covmetrics==0.1.2 lightgbm catboost probmetrics numba
    PYTHONPATH=src python tests/metrics/covmetrics_rows.py > tests/metrics/covmetrics.csv

The library itself is only needed to import this file with the tests.
"""

import csv
import sys

import numpy as np
from scipy.special import ndtr, ndtri

N = 1500
COVERAGE = 0.9
SEED = 7


def _box(X):
    return np.where((X[:, 0] > 0.3) & (X[:, 1] > 0.0), 2.2, 1.0)


#: Standard deviation of the outcomes given x; the forecast has one width for all rows.
LAWS = {
    "true": lambda X: np.ones(len(X)),
    "weak": lambda X: 1.0 + 0.2 * X[:, 0],
    "linear": lambda X: 1.0 + 0.6 * X[:, 0],
    "box": _box,
    "sum": lambda X: np.exp(0.5 * (X[:, 0] + X[:, 1] + X[:, 2])),
    "too narrow": lambda X: np.full(len(X), 1.3),
}


def rows(name):
    """Features, whether the outcomes are inside, and the chance of that."""
    rng = np.random.default_rng(SEED)
    X = rng.uniform(-1.0, 1.0, size=(N, 4))
    chance = 2.0 * ndtr(ndtri(0.5 + 0.5 * COVERAGE) / LAWS[name](X)) - 1.0
    return X, rng.uniform(size=N) < chance, chance


def _covmetrics():
    from covmetrics.ERT import ERT
    from covmetrics.losses import L1_miscoverage, brier_score, logloss
    from covmetrics.slab_metrics import WSC

    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["law", "ert", "ert_l2", "ert_kl", "worst_slab"])
    for name in LAWS:
        X, inside, _ = rows(name)
        losses = [L1_miscoverage, brier_score, logloss]
        found = ERT().evaluate_multiple_losses(
            X, inside.astype(float), 1.0 - COVERAGE, all_losses=losses
        )
        slab = WSC(delta=0.1).evaluate(X, inside.astype(float), M=300)
        out.writerow([name, *(f"{value:.5f}" for value in [*found.values(), slab])])
        sys.stdout.flush()


if __name__ == "__main__":
    _covmetrics()
