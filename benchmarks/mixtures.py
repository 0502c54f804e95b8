"""Cost, memory and largest errors of mixtures: quantiles, intervals, CRPS, moments.

    python benchmarks/mixtures.py            # 2,000 rows of 5 parts, about 2 minutes
    python benchmarks/mixtures.py --quick    # fewer cases, one run each: within 20 seconds

Times are CPU seconds. ``want`` is the bound that the project holds itself to. Errors are the
largest over some rows. That of a quantile is the distance of its level from those of the
neighbouring floats, in units of the smaller tail. Those of CRPS and moments are differences from
quadrature between all kinks and jumps of the parts and between thousands of quantiles, in units of
the standard deviation.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

import trueline as tl

FloatArray = NDArray[np.float64]
Case = tuple[str, tl.Distribution, FloatArray]

ROWS, PARTS = 2000, 5
LEVELS = np.arange(1, 100) / 100
TINY = np.array([1e-300, 1e-100, 1e-30, 1e-12, 1e-9, 1e-4])
NODES, WEIGHTS = np.polynomial.legendre.leggauss(3)


class Ensemble:
    """Forecasts of several models for the same rows, and maps fitted on rows of their own."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.loc = self.rng.normal(size=ROWS)
        self.scale = self.rng.uniform(0.5, 2.0, size=ROWS)
        self.y = self.loc + 1.5 * self.scale * self.rng.normal(size=ROWS)

    def normal(self, shift: float = 0.0) -> tl.Normal:
        """Return the forecast of one model."""
        away = shift + 0.2 * self.rng.normal(size=ROWS)
        width = np.exp(0.1 * self.rng.normal(size=ROWS))
        return tl.Normal(self.loc + self.scale * away, self.scale * width)

    def map(self, rows: int = 1000, ties: bool = False) -> tl.Isotonic:
        """Return a map fitted on outcomes with errors 1.5 times too large."""
        y = 1.5 * self.rng.normal(size=rows)
        model = tl.Isotonic(support=None)
        return model.fit(np.round(2.0 * y) / 2.0 if ties else y, tl.Normal(np.zeros(rows), 1.0))

    def conditional(self) -> tl.Distribution:
        """Return what `Conditional` returns: 99 quantiles per row, some equal, under a map."""
        draws = np.sort(self.rng.normal(size=(ROWS, 60)), axis=1)
        place = np.ceil(LEVELS * 60 - 1e-9).astype(int) - 1
        own = self.normal()
        # A forest interpolates most of its quantiles.
        values = draws[:, place] + 0.02 * np.floor(np.arange(99) / 1.07) / 99
        values = own.loc[:, None] + own.scale[:, None] * values
        F = tl.Quantiles(LEVELS, values)
        return tl.Isotonic(support=None).fit(self.y, F).transform(F)


def cases(quick: bool) -> Iterator[Case]:
    """Yield mixtures by name, with outcomes."""
    e = Ensemble()
    kinked = [e.map().transform(e.normal()) for _ in range(PARTS)]
    yield "isotonic", tl.Mixture(kinked), e.y
    yield "conditional", tl.Mixture([e.conditional() for _ in range(PARTS)]), e.y
    yield "normals", tl.Mixture([e.normal() for _ in range(PARTS)]), e.y
    if quick:
        return
    shared = e.map()
    yield "one map", tl.Mixture([shared.transform(e.normal()) for _ in range(PARTS)]), e.y
    yield "few knots", tl.Mixture([e.map(30).transform(e.normal()) for _ in range(PARTS)]), e.y
    yield "atoms", tl.Mixture([e.map(ties=True).transform(e.normal()) for _ in range(PARTS)]), e.y
    far = [e.map().transform(e.normal(100.0 * i)) for i in range(PARTS)]
    yield "far apart", tl.Mixture(far), e.y
    narrow = [tl.Normal(e.loc, 1.0), tl.Laplace(e.loc + 1e4, 1e-3)]
    yield "far and narrow", tl.Mixture(narrow, [0.3, 0.7]), e.y
    yield "unequal weights", tl.Mixture(kinked, [0.0, 1e-9, 0.1, 0.3, 0.6]), e.y
    by_row = e.rng.dirichlet(0.3 * np.ones(PARTS), size=ROWS)
    yield "weights by row", tl.Mixture(kinked, by_row), e.y
    heavy = [tl.StudentT(e.normal().loc, e.scale, 3.0), tl.Logistic(e.loc, 0.5 * e.scale)]
    yield "t and logistic", tl.Mixture(heavy), e.y
    draws = [tl.Samples(e.loc[:, None] + e.rng.normal(size=(ROWS, 100))) for _ in range(PARTS)]
    yield "draws", tl.Mixture(draws), e.y


def kinks(dist: tl.Distribution) -> list[FloatArray]:
    """Values at which the CDF of a single row has kinks or jumps."""
    if isinstance(dist, tl.Mixture):
        return [x for part in dist.components for x in kinks(part)]
    found = [getattr(dist, name).ravel() for name in ("values", "draws") if hasattr(dist, name)]
    knots = getattr(getattr(dist, "law", None), "knots", None)
    if knots is not None and hasattr(dist, "base"):
        found += [dist._unscore(knots[None, :]).ravel(), *kinks(dist.base)]
    elif knots is not None:
        found.append(dist._unscore(knots[None, :]).ravel())
    return found


def reference(dist: tl.Distribution, y: float) -> tuple[float, float, float]:
    """Mean, standard deviation and CRPS at y of a single row."""
    parts = dist.components if isinstance(dist, tl.Mixture) else [dist]
    tail = np.geomspace(1e-40, 0.5, 4000)[None, :]  # the variance of a t with 3 df needs them all
    with np.errstate(divide="ignore"):
        grid = [ends.ravel() for part in parts for ends in (part._ppf(tail), part._isf(tail))]
    x = np.unique(np.concatenate([*grid, *kinks(dist), [y]]))
    x = x[np.isfinite(x)]  # parts without an exact isf reach the levels above 1 - 1e-16 at infinity
    half = 0.5 * np.diff(x)
    nodes = (x[:-1] + half)[:, None] + half[:, None] * NODES
    cdf = dist._cdf(nodes.reshape(1, -1)).reshape(nodes.shape)
    weight = half[:, None] * WEIGHTS

    def area(f: FloatArray) -> float:
        return float((weight * f).sum())

    # From the centre outwards, because the sum of small tails needs their digits.
    sf = dist._sf(nodes.reshape(1, -1)).reshape(nodes.shape)
    up = nodes > y
    mean = y + area(np.where(up, sf, -cdf))
    second = area(2.0 * np.where(up, (nodes - y) * sf, (y - nodes) * cdf))
    crps = area(np.where(up, sf, cdf) ** 2)
    return mean, float(np.sqrt(second - (mean - y) ** 2)), crps


def quantile_error(dist: tl.Distribution, levels: FloatArray, y: FloatArray, upper: bool) -> float:
    """Largest distance of the levels from those that y has up to the rounding of y."""
    before, after = y - 4.0 * np.spacing(np.abs(y)), y + 4.0 * np.spacing(np.abs(y))
    if upper:
        low, high = dist._sf(after), dist._sf(before)
    else:
        low, high = dist._cdf(before), dist._cdf(after)
    miss = np.maximum(np.maximum(low - levels, levels - high), 0.0)
    return float((miss / np.minimum(levels, 1.0 - levels)).max())


def measure(run: Callable[[], object], repeats: int) -> tuple[float, float]:
    """Return CPU seconds, the fewest of several runs, and the peak of memory in MB."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    if repeats == 1:
        return best, np.nan
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return best, peak / 1e6


def show(name: str, job: str, cost: tuple[float, float] | None, error: float, want: str) -> None:
    """Print one line; `want` is like "0.5 s 1e-12", with "-" for no bound."""
    most, accuracy = want.split()
    holds = accuracy == "-" or error <= float(accuracy)
    text = " " * 19
    if cost is not None:
        text = f"{cost[0]:8.3f} s {cost[1]:6.0f} MB"
        holds &= most == "-" or cost[0] <= float(most)
    mark = f"want {most} s, {accuracy}: {'yes' if holds else 'NO'}"
    print(f"  {name:16s} {job:18s}{text}   error {error:8.1e}   {mark}", flush=True)


def errors(dist: tl.Distribution, y: FloatArray, rows: list[int]) -> FloatArray:
    """Largest errors of mean, standard deviation and CRPS, in standard deviations."""
    part, at = dist[rows], y[rows]
    exact = np.array([reference(part[[i]], float(at[i])) for i in range(len(rows))])
    found = np.stack([part.mean(), part.std(), part.crps(at)], axis=1)
    worst: FloatArray = (np.abs(found - exact) / exact[:, 1:2]).max(axis=0)
    return worst


def one_case(name: str, F: tl.Distribution, y: FloatArray, quick: bool) -> None:
    """Measure a mixture."""
    repeats, rows = (1, [0, 1]) if quick else (3, list(range(0, ROWS, 250)))
    bounds = {"isotonic": ("0.5", "0.03", "0.1"), "conditional": ("1.5", "-", "0.5")}
    many, two, score = bounds.get(name, ("-", "-", "-"))
    q = F.ppf(LEVELS)
    error = quantile_error(F, LEVELS, q, upper=False)
    show(name, "99 quantiles", measure(lambda: F.ppf(LEVELS), repeats), error, f"{many} 1e-12")
    ends = np.stack(F.interval(0.9), axis=1)
    error = quantile_error(F, np.array([0.05, 0.95]), ends, upper=False)
    show(name, "interval", measure(lambda: F.interval(0.9), repeats), error, f"{two} 1e-12")
    part = F[rows]
    for job, upper, tiny in (
        ("ppf from 1e-300", False, part._ppf(TINY[None, :])),
        ("isf from 1e-300", True, part._isf(TINY[None, :])),
    ):
        show(name, job, None, quantile_error(part, TINY, tiny, upper), "- 1e-12")
    worst = errors(F, y, rows)
    show(
        name,
        "mean and std",
        measure(lambda: (F.mean(), F.std()), repeats),
        worst[:2].max(),
        "- 1e-6",
    )
    show(name, "CRPS", measure(lambda: F.crps(y), repeats), worst[2], f"{score} 1e-5")
    cost = measure(lambda: tl.evaluate(y, F), repeats)
    print(f"  {name:16s} {'evaluate':18s}{cost[0]:8.3f} s {cost[1]:6.0f} MB", flush=True)


def recalibrated(name: str, F: tl.Distribution, y: FloatArray, quick: bool) -> None:
    """Measure a mixture that is recalibrated once more."""
    repeats, rows = (1, [0]) if quick else (2, [0, 500, 1000])
    G = tl.Isotonic(support=None).fit(y, F).transform(F)
    worst = errors(G, y, rows)
    most, accuracy = ("0.6", "1e-7") if name == "normals" else ("-", "2e-4")
    for job, run, error in (
        ("mean", G.mean, worst[0]),
        ("std", G.std, worst[1]),
        ("CRPS", lambda: G.crps(y), worst[2]),
    ):
        show(f"{name}, mapped", job, measure(run, repeats), error, f"{most} {accuracy}")


def main() -> None:
    """Run all and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three cases, one run each")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", tl.CalibrationWarning)
    print(f"{ROWS} rows, {PARTS} parts, CPU seconds")
    for name, F, y in cases(quick):
        one_case(name, F, y, quick)
        if name == "normals" or (not quick and name in ("isotonic", "conditional")):
            recalibrated(name, F, y, quick)


if __name__ == "__main__":
    main()
