"""How often `conditional_coverage` calls a region off, on forecasts that are true or false given x.

    python benchmarks/truth.py           # about five minutes
    python benchmarks/truth.py --quick   # fewer samples

Forecasts have one width, which is right on average. Of a true forecast at most 5% of the samples
may be called off. The last line is about the standard error of ERT, for a true forecast.
"""

from __future__ import annotations

import argparse

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from tests.metrics.covmetrics_rows import LAWS
from trueline.features import FEWEST_ROWS, Table, chance_given_x, learn_regions
from trueline.metrics import chance_range

COVERAGE = 0.9
NAMES = ("true", "weak", "linear", "box", "sum")


def sample(law: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Features, and whether the outcomes are inside intervals of one width."""
    X = rng.uniform(-1.0, 1.0, size=(n, 4))
    scale, width = LAWS[law](X), ndtri(0.5 + 0.5 * COVERAGE)
    for _ in range(30):  # the width at which the average is right
        width *= 1.0 + COVERAGE - (2.0 * ndtr(width / scale) - 1.0).mean()
    return X, rng.uniform(size=n) < 2.0 * ndtr(width / scale) - 1.0


def is_off(X: np.ndarray, inside: np.ndarray, rng: np.random.Generator) -> bool:
    """Whether the coverage of some region is beyond chance; the other numbers are left out."""
    n = len(inside)
    assert n >= FEWEST_ROWS
    order = rng.permutation(n)
    searched, judged = order[: n // 2], order[n // 2 :]
    found = learn_regions(Table.read(X, n), inside, None, searched, 30)
    level = 0.05 / len(found)
    for _, here in found:
        rows = judged[here[judged]]
        low, high = chance_range(len(rows), COVERAGE, level=level)
        if len(rows) and not low <= inside[rows].mean() <= high:
            return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    times = 60 if parser.parse_args().quick else 500
    print(f"{'rows':>6}" + "".join(f"{name:>8}" for name in NAMES))
    for n in (200, 500, 2000):
        shares = []
        for law in NAMES:
            rngs = [np.random.default_rng([n, seed]) for seed in range(times)]
            off = sum(is_off(*sample(law, n, rng), rng) for rng in rngs)
            assert law != "true" or off <= binom.ppf(0.999, times, 0.05), "too often"
            shares.append(off / times)
        print(f"{n:>6,}" + "".join(f"{share:>8.1%}" for share in shares), flush=True)
    beyond = 0
    for seed in range(times):
        rng = np.random.default_rng(seed)
        X, inside = sample("true", 1000, rng)
        risk = chance_given_x(inside, Table.read(X, 1000), None, COVERAGE, rng).l1
        beyond += risk.value > 2.0 * risk.error
    print(f"ERT of a true forecast is above two standard errors in {beyond / times:.1%} of samples")


if __name__ == "__main__":
    main()
