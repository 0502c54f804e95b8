"""Speed and memory of the core, as ratios against a floor or a peer measured in the same run.

    python benchmarks/core.py            # n = 1e4 to 1e7
    python benchmarks/core.py --quick    # n = 1e4 and 1e5

Every ratio is of the fastest of several runs, interleaved, so that a noisy machine slows both
sides alike. ``want`` is the bound that the project holds itself to.
"""

from __future__ import annotations

import argparse
import math
import time
import tracemalloc
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

import trueline as tl

LEVELS = 1000


@dataclass
class Result:
    """One line of the table."""

    job: str
    n: int
    ours: float
    other: float
    against: str
    want: str
    holds: bool


#: Seconds that a race takes, or a little more.
RACE = 1.0


def race(*jobs: Callable[[], object], share: float = 1.0) -> list[float]:
    """Fastest time of each job, run in turn until the time is up and at least 3 times each."""
    best = [math.inf] * len(jobs)
    started = time.perf_counter()
    rounds = 0
    while rounds < 3 or time.perf_counter() - started < share * RACE:
        for i, job in enumerate(jobs):
            t = time.perf_counter()
            job()
            best[i] = min(best[i], time.perf_counter() - t)
        rounds += 1
    return best


def forecasts(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Outcomes, means and standard deviations of an over-confident forecast."""
    rng = np.random.default_rng(0)
    loc = rng.normal(size=n)
    scale = rng.uniform(0.5, 2.0, size=n)
    return loc + 3.0 * scale * rng.normal(size=n) + 0.5, loc, scale


def grid_moments(R: tl.Isotonic, loc: np.ndarray, scale: np.ndarray) -> tuple[np.ndarray, ...]:
    """Mean and variance as one does without closed forms: average 1000 quantiles a row."""
    z = R.law_.ppf((np.arange(LEVELS) + 0.5) / LEVELS)
    quantiles = loc[:, None] + scale[:, None] * z
    return quantiles.mean(axis=1), quantiles.var(axis=1)


def grid_crps(R: tl.Isotonic, y: np.ndarray, loc: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """CRPS as twice the mean pinball loss over 1000 quantiles a row."""
    q = (np.arange(LEVELS) + 0.5) / LEVELS
    error = y[:, None] - (loc[:, None] + scale[:, None] * R.law_.ppf(q))
    return 2.0 * np.maximum(q * error, (q - 1.0) * error).mean(axis=1)


def ratio_at_most(job: str, n: int, t: list[float], against: str, bound: float) -> Result:
    """Ours over the floor."""
    return Result(job, n, t[0], t[1], against, f"<= {bound:g} x", t[0] <= bound * t[1])


def faster_by(job: str, n: int, ours: float, other: float, against: str, bound: float) -> Result:
    """The other over ours."""
    return Result(job, n, ours, other, against, f"{bound:g} x faster", other >= bound * ours)


def at_size(n: int) -> list[Result]:
    """All jobs at one size."""
    y, loc, scale = forecasts(n)
    F = tl.Normal(loc, scale)
    R = tl.Isotonic().fit(y, F)
    G = R.transform(F)
    z_low, z_high = R.law_.ppf(np.array([0.05, 0.95]))

    def floor_fit() -> np.ndarray:
        return np.sort((y - loc) / scale)

    def floor_interval() -> tuple[np.ndarray, np.ndarray]:
        return loc + scale * z_low, loc + scale * z_high

    out = [
        ratio_at_most(
            "exact fit", n, race(lambda: tl.Isotonic().fit(y, F), floor_fit), "z + np.sort", 1.3
        ),
        ratio_at_most(
            "90% interval", n, race(lambda: G.interval(0.9), floor_interval), "loc + scale * z", 1.3
        ),
    ]
    # The grid needs 8 kB a row: measure it on some rows and scale it up.
    m = min(n, 20_000)
    part = slice(0, m)
    slow = race(lambda: grid_moments(R, loc[part], scale[part]), share=0.5)[0] * n / m
    ours = race(lambda: (G.mean(), G.var()), share=0.5)[0]
    out.append(faster_by("mean and variance", n, ours, slow, "1000-level grid", 100))
    slow = race(lambda: grid_crps(R, y[part], loc[part], scale[part]), share=0.5)[0] * n / m
    ours = race(lambda: G.crps(y))[0]
    out.append(faster_by("CRPS", n, ours, slow, "1000-level grid", 100))
    t = race(lambda: G.cdf(y), lambda: np.sort(y))
    out.append(Result("R(F(y))", n, t[0], t[1], "np.sort", "", True))
    t = race(lambda: tl.evaluate(y, G), lambda: np.sort(y))
    out.append(Result("evaluate, recalibrated", n, t[0], t[1], "np.sort", "", True))
    return out


def evaluation(n: int) -> list[Result]:
    """`evaluate` after each pooled map and after `Grouped`, against that of a plain normal."""
    y, loc, scale = forecasts(n)
    groups = np.random.default_rng(1).integers(0, 5, size=n)
    F = tl.Normal(loc, scale)
    maps = (tl.Isotonic(), tl.Scaling(), tl.Smooth(), tl.BetaCalibration())
    after = {type(R).__name__: R.fit(y, F).transform(F) for R in maps}
    after["Grouped"] = tl.Grouped().fit(y, F, groups=groups).transform(F, groups=groups)
    out = []
    for name, G in after.items():
        t = race(lambda G=G: tl.evaluate(y, G), lambda: tl.evaluate(y, F))
        out.append(ratio_at_most(f"evaluate after {name}", n, t, "a plain normal", 2.5))
    return out


def against_uncertainty_toolbox(n: int = 100_000) -> list[Result]:
    """`evaluate` against the peer's metrics, without its adversarial part."""
    try:
        import uncertainty_toolbox.metrics as peer
    except ImportError:
        print("uncertainty-toolbox is not installed: its comparison is left out")
        return []
    y, loc, scale = forecasts(n)
    F = tl.Normal(loc, scale)

    def theirs() -> None:
        peer.get_all_accuracy_metrics(loc, y, verbose=False)
        peer.get_all_average_calibration(loc, scale, y, num_bins=100, verbose=False)
        peer.get_all_sharpness_metrics(scale, verbose=False)
        peer.get_all_scoring_rule_metrics(loc, scale, y, resolution=99, scaled=True, verbose=False)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = race(lambda: tl.evaluate(y, F))[0]
        slow = race(theirs, share=0.1)[0]
    return [faster_by("evaluate", n, ours, slow, "uncertainty-toolbox", 200)]


def against_crepes(sizes: Sequence[int]) -> list[Result]:
    """`Isotonic.fit` against a conformal predictive system with difficulties."""
    try:
        from crepes import ConformalPredictiveSystem
    except ImportError:
        print("crepes is not installed: its comparison is left out")
        return []
    out = []
    for n in sizes:
        y, loc, scale = forecasts(n)
        F = tl.Normal(loc, scale)
        t = race(
            lambda y=y, F=F: tl.Isotonic().fit(y, F),
            lambda y=y, loc=loc, scale=scale: ConformalPredictiveSystem().fit(y - loc, scale),
        )
        result = ratio_at_most("Isotonic fit", n, t, "crepes", 1.0)
        out.append(result if n >= 100_000 else replace(result, want=""))
    return out


def conditional(sizes: Sequence[int], new: int = 20_000) -> list[Result]:
    """`Conditional` with 8 features: CPU seconds of a fit, and `transform` against trees alone."""
    from sklearn.ensemble import ExtraTreesRegressor

    out = []
    for n in sizes:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n + new, 8))
        y = X[:, 1] + np.exp(0.6 * X[:, 0]) * rng.normal(size=n + new)
        F = tl.Normal(X[:, 1], np.ones(n + new))
        started = time.process_time()
        R = tl.Conditional(random_state=0).fit(y[:n], F[:n], X=X[:n])
        t = [time.process_time() - started, 200e-6 * n]
        out.append(ratio_at_most("Conditional fit", n, t, "200 us a row", 1.0))
        rows = slice(0, min(n, 10_000))
        trees = ExtraTreesRegressor(
            R.learner_.n_estimators, min_samples_leaf=5, bootstrap=True, max_samples=0.5
        ).fit(X[rows], y[rows])
        t = race(
            lambda R=R, F=F[n:], X=X[n:]: R.transform(F, X=X),
            lambda trees=trees, X=X[n:]: trees.predict(X),
        )
        name = f"Conditional transform, {new:.0e} rows"
        out.append(ratio_at_most(name, n, t, "as many trees of scikit-learn", 1.0))
    return out


def memory(n: int = 1_000_000) -> list[Result]:
    """Peak memory beyond the inputs, in arrays of length n."""
    y, loc, scale = forecasts(n)
    F = tl.Normal(loc, scale)
    R = tl.Isotonic().fit(y, F)

    def whole() -> None:
        G = tl.Isotonic().fit(y, F).transform(F)
        G.interval(0.9)
        G.mean()
        G.var()

    jobs: dict[str, Callable[[], object]] = {
        "fit, transform, interval, moments": whole,
        "CRPS": lambda: R.transform(F).crps(y),
        "R(F(y))": lambda: R.transform(F).cdf(y),
        "evaluate": lambda: tl.evaluate(y, F),
    }
    out = []
    for job, run in jobs.items():
        run()  # caches and imports
        R = tl.Isotonic().fit(y, F)
        tracemalloc.start()
        run()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        arrays = peak / (8 * n)
        out.append(Result(f"peak memory: {job}", n, arrays, 1, "arrays", "<= 6", arrays <= 6.0))
    return out


def growth(results: list[Result]) -> list[str]:
    """How the cost a row grows with n, beside log n."""
    lines = []
    for job in dict.fromkeys(r.job for r in results):
        rows = [r for r in results if r.job == job]
        if len(rows) > 1:
            first, last = rows[0], rows[-1]
            factor = (last.ours / last.n) / (first.ours / first.n)
            logs = math.log(last.n) / math.log(first.n)
            lines.append(
                f"  {job:24s} x {factor:5.2f} a row from n = {first.n:.0e} to {last.n:.0e} "
                f"(log n grows x {logs:.2f})"
            )
    return lines


def show(results: list[Result]) -> None:
    """Print a table."""
    for r in results:
        if r.against == "arrays":
            line = f"{r.ours:10.2f} arrays of n"
        elif "faster" in r.want:
            line = f"{r.ours * 1e3:10.3f} ms  {r.other / r.ours:9.1f} x faster than {r.against}"
        else:
            line = f"{r.ours * 1e3:10.3f} ms  {r.ours / r.other:9.2f} x {r.against}"
        mark = "" if not r.want else f"   want {r.want}: {'yes' if r.holds else 'NO'}"
        print(f"  {r.job:42s} n = {r.n:<9d}{line}{mark}")


def main() -> None:
    """Run all and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="n = 1e4 and 1e5 only")
    quick = parser.parse_args().quick
    if quick:
        global RACE  # noqa: PLW0603  # a setting of the whole run
        RACE = 0.3
    results = []
    for n in (10_000, 100_000) if quick else (10_000, 100_000, 1_000_000, 10_000_000):
        results += at_size(n)
        show(results[-6:])
    for n in (100_000,) if quick else (100_000, 1_000_000):
        show(evaluation(n))
    show(against_uncertainty_toolbox())
    show(against_crepes((10_000, 100_000) if quick else (1_000, 10_000, 100_000, 1_000_000)))
    show(conditional((10_000,) if quick else (10_000, 100_000, 1_000_000)))
    show(memory(100_000 if quick else 1_000_000))
    print("growth of the cost a row:")
    print("\n".join(growth(results)))


if __name__ == "__main__":
    main()
