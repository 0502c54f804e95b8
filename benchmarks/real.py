"""Real data and its faults: every case that the defaults must survive, as one line each.

    python benchmarks/real.py                  # about three minutes on one core
    python benchmarks/real.py --full           # more runs of everything; an hour
    python benchmarks/real.py groups copies    # some cases
    python benchmarks/real.py --output results/real.md

The cases are rows in groups, copied rows, counts, collapsed forecasts, rain, ratings, small sets
with networks, maps of few rows, importance weights, small groups and heavy tails. Every line shows
the number that was measured before the library handled the case, the number now with its standard
error over runs, and the range that is wanted. The number before is the one that was first reported,
with rows that were not kept, and in brackets the one that this script measures with that release.

The data sets are read from the folder that TRUELINE_DATA names; without it their cases are left
out. Seeds are 0, 1, ..., one per run.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy import stats

import real_cases as cases
import trueline as tl
from real_cases import Mean, league, precipitation
from trueline._files import write_text

#: Range and format of the coverage of 90% intervals.
COVER = (0.88, 0.92, ".1%")
#: Numbers of the release before: as first reported, and in brackets as measured by this script.
BEFORE = {
    "groups: random intercepts, isotonic": "[82.3%]",
    "groups: random intercepts, conditional": "[81.4%]",
    "groups: own variance, isotonic": "[86.8%]",
    "groups: own variance, conditional": "[89.1%]",
    "groups: shifts, isotonic": "75% [74.0%]",
    "groups: shifts, conditional": "73% [72.5%]",
    "copies: each row four times": "68% [65.6%]",
    "copies: a third of the rows copied": "[84.6%]",
    "copies: 40 rows six times, 120 once": "[72.6%]",
    "copies: weekdays, coverage": "[90.2%]",
    "copies: weekdays, CRPS / shuffled folds": "[1.000]",
    "copies: the same for counts": "[1.000]",
    "counts: 10 Poisson draws, CRPS": "[9,985]",
    "counts: 10 Poisson draws, shift": "[2,301,677]",
    "counts: 50 Poisson draws, CRPS": "[1.171]",
    "counts: 50 Poisson draws, shift": "[+0.501]",
    "counts: 1,000 Poisson draws, CRPS": "1.16 [1.188]",
    "counts: 1,000 Poisson draws, shift": "+0.53 [+0.521]",
    "counts: wrapped model, isotonic, P(0) - share": "[-0.220]",
    "counts: wrapped model, conditional, P(0) - share": "[-0.227]",
    "counts: Poisson quantiles, error / floor": "232 [196.80]",
    "counts: ten perfect draws, error / floor": "20 [20.36]",
    "counts: the same, verdict says why": "[0%]",
    "collapsed: 1 of 1,000, Isotonic, CRPS": "4 [6.128]",
    "collapsed: 5 of 1,000, Isotonic, CRPS": "[43.646]",
    "collapsed: 1 of 1,000, Scaling, CRPS": "10,000 [16,182]",
    "collapsed: 5 of 1,000, Scaling, CRPS": "[41,961]",
    "collapsed: 1 of 1,000, Conditional, CRPS": "20,000 [88,114]",
    "collapsed: 5 of 1,000, Conditional, CRPS": "[1,822,010]",
    "collapsed: 1 of 1,000, Isotonic, mean off": "1,630 [1,953]",
    "rain: lead 1, point, Conditional, CRPS": "3,536 [4,041]",
    "rain: the same, lower ends below 0": "69% [70.7%]",
    "rain: the same with ensemble as X, CRPS": "0.800 [0.721]",
    "rain: lead 1, ensemble, Isotonic, CRPS": "0.743 [0.743]",
    "rain: lead 4, ensemble, Isotonic, CRPS": "[0.898]",
    "rain: lead 1, ensemble, Conditional, CRPS": "[0.680]",
    "wine: CRPS / climatology": "0.765 [0.774]",
    "wine: coverage": "[89.8%]",
    "wine: smallest sets of 90%": "[36.2%]",
    "networks: coverage": "66%, 68% [86.6%]",
    "networks: error / floor": "18 [2.86]",
    "networks: CRPS / bare network": "[0.947]",
    "networks: the same on the worst set": "1.46 [0.998]",
    "judging: perfect map, rejected at 5%": "98% [98.4%]",
    "judging: the same, 20% too narrow": "[99.6%]",
    "weights: exp(2 x)": "84.8% [84.7%]",
    "weights: exp(1.5 x), spread exp(x / 2)": "[84.2%]",
    "small-groups: 5 rows with fourfold noise": "69% [71.1%]",
    "small-groups: 10 rows with fourfold noise": "78% [79.8%]",
    "small-groups: 20 rows with fourfold noise": "88% [84.2%]",
    "small-groups: 5 ordinary rows": "[93.9%]",
    "small-groups: all ordinary groups": "[91.6%]",
    "small-groups: the same, CRPS / known noise": "[1.020]",
    "tails: t3, 500 rows, exceeded / 0.1%": "[1.49]",
    "tails: t3, 700 rows, exceeded / 0.1%": "[1.30]",
    "tails: t3, 1,000 rows, exceeded / 0.1%": "[1.01]",
    "tails: lognormal, 500 rows, exceeded / 0.1%": "[1.45]",
    "tails: lognormal, 700 rows, exceeded / 0.1%": "[1.19]",
    "tails: lognormal, 1,000 rows, exceeded / 0.1%": "[1.04]",
}


@dataclass(frozen=True)
class Row:
    """One line: a measurement and the range that is wanted.

    `runs` are the numbers of runs by default and with --full; `data` is whether it needs data sets.
    """

    case: str
    what: str
    low: float
    high: float
    form: str
    measure: Callable[[int], Mean]
    runs: tuple[int, int]
    data: bool = False

    def run(self, runs: int) -> Mean:
        """Measure; ties, copies and small groups are there on purpose and need no warning."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", tl.CalibrationWarning)
            return self.measure(runs)

    def beyond(self, mean: Mean) -> float:
        """Return how many standard errors a mean is outside the wanted range; 0 inside.

        A standard error above the limit itself excuses nothing.
        """
        limit = self.low if mean.value < self.low else self.high
        if self.low <= mean.value <= self.high:
            return 0.0
        return abs(mean.value - limit) / mean.error if 0.0 < mean.error < abs(limit) else np.inf

    def judge(self, mean: Mean) -> str:
        beyond = self.beyond(mean)
        return "ok" if beyond == 0.0 else "within 2 s.e." if beyond <= 2.0 else "NOT"

    @property
    def before(self) -> str:
        return BEFORE.get(f"{self.case}: {self.what}", "")

    @property
    def wanted(self) -> str:
        low, high = (format(end, self.form) for end in (self.low, self.high))
        if self.low == self.high:
            return low
        if np.isinf(self.low):
            return f"at most {high}"
        return f"at least {low}" if np.isinf(self.high) else f"{low} to {high}"

    def now(self, mean: Mean) -> str:
        forms = [self.form if abs(number) < 1000.0 else ",.0f" for number in mean]
        value, error = (format(number, form) for number, form in zip(mean, forms, strict=True))
        return value if np.isnan(mean.error) else f"{value} ± {error.lstrip('+')}"


def named(
    name: str, measure: Callable[..., dict[str, Mean]], *args: object
) -> Callable[[int], Mean]:
    """Return the measurement of one of several numbers, which are measured together once."""
    return lambda runs: measure(*args, runs)[name]


# ---- the table ---------------------------------------------------------------------------


def rows() -> Iterator[Row]:
    """Yield all lines, in order."""
    for part in (
        of_groups,
        of_copies,
        of_counts,
        of_collapsed,
        of_rain,
        of_wine,
        of_networks,
        of_judging,
        of_weights,
        of_small_groups,
        of_tails,
    ):
        yield from part()


def of_groups() -> Iterator[Row]:
    makes = {
        "random intercepts": cases.random_intercepts,
        "own variance": cases.group_variance,
        "shifts": cases.group_shifts,
    }
    for name, make in makes.items():
        for method in ("isotonic", "conditional"):
            measure = partial(cases.new_groups, make, method)
            yield Row("groups", f"{name}, {method}", *COVER, measure, (8, 80))


def of_copies() -> Iterator[Row]:
    makes = {
        "each row four times": cases.four_times,
        "a third of the rows copied": cases.third_copied,
        "40 rows six times, 120 once": cases.copies_and_unique,
    }
    for what, make in makes.items():
        yield Row("copies", what, 0.87, 0.93, ".1%", partial(cases.copies, make), (16, 200))
    runs, most = (8, 80), (-np.inf, 1.005, ".3f")
    continuous, counts = partial(cases.weekdays, False), partial(cases.weekdays, True)
    yield Row("copies", "weekdays, coverage", *COVER, named("coverage", continuous), runs)
    yield Row("copies", "weekdays, CRPS / shuffled folds", *most, named("crps", continuous), runs)
    yield Row("copies", "the same for counts", *most, named("crps", counts), runs)


def of_counts() -> Iterator[Row]:
    for draws in (10, 50, 1000):
        runs = (10, 100)
        measure = named("crps", cases.poisson_map, draws)
        what = f"{draws:,} Poisson draws, CRPS"
        yield Row("counts", what, -np.inf, 1.003, ".3f", measure, runs)
        measure = named("shift", cases.poisson_map, draws)
        what = f"{draws:,} Poisson draws, shift"
        yield Row("counts", what, -0.02, 0.02, "+.3f", measure, runs)
    for method in ("isotonic", "conditional"):
        measure = partial(cases.wrapped_counts, method)
        what = f"wrapped model, {method}, P(0) - share"
        yield Row("counts", what, -0.02, 0.02, "+.3f", measure, (6, 60))
    runs, of_floor = (200, 1000), (0.8, 1.2, ".2f")
    what = "Poisson quantiles, error / floor"
    yield Row("counts", what, *of_floor, cases.poisson_quantiles, runs)
    measure = named("error", cases.perfect_draws)
    yield Row("counts", "ten perfect draws, error / floor", *of_floor, measure, runs)
    measure = named("said", cases.perfect_draws)
    yield Row("counts", "the same, verdict says why", 1.0, 1.0, ".0%", measure, runs)


def of_collapsed() -> Iterator[Row]:
    makes = {"Isotonic": tl.Isotonic, "Scaling": tl.Scaling, "Conditional": cases.conditional}
    runs = (5, 50)
    for name, make in makes.items():
        for k in (1, 5):
            measure = named("crps", cases.collapsed, make, k)
            what = f"{k} of 1,000, {name}, CRPS"
            yield Row("collapsed", what, -np.inf, 1.01, ".3f", measure, runs)
    measure = named("mean", cases.collapsed, tl.Isotonic, 1)
    what = "1 of 1,000, Isotonic, mean off"
    yield Row("collapsed", what, -np.inf, 0.05, ".3f", measure, runs)


def of_rain() -> Iterator[Row]:
    point, features = precipitation.point_conditional, precipitation.point_with_features
    ensemble, both = precipitation.ensemble_isotonic, precipitation.ensemble_with_features
    for what, name, recipe, lead, high, form, runs in (
        ("lead 1, point, Conditional, CRPS", "crps", point, 1, 0.75, ".3f", (2, 5)),
        ("the same, lower ends below 0", "below", point, 1, 0.0, ".1%", (2, 5)),
        ("the same with ensemble as X, CRPS", "crps", features, 1, 0.69, ".3f", (2, 5)),
        ("lead 1, ensemble, Isotonic, CRPS", "crps", ensemble, 1, 0.69, ".3f", (1, 1)),
        ("lead 4, ensemble, Isotonic, CRPS", "crps", ensemble, 4, 0.89, ".3f", (1, 1)),
        ("lead 1, ensemble, Conditional, CRPS", "crps", both, 1, 0.69, ".3f", (2, 5)),
    ):
        measure = named(name, cases.rain, recipe, lead)
        yield Row("rain", what, -np.inf, high, form, measure, runs, data=True)


def of_wine() -> Iterator[Row]:
    for what, name, low, high, form in (
        ("CRPS / climatology", "crps", -np.inf, 0.65, ".3f"),
        ("coverage", "coverage", 0.88, 1.0, ".1%"),
        ("smallest sets of 90%", "smallest", 1.0, 1.0, ".1%"),
    ):
        yield Row("wine", what, low, high, form, named(name, cases.wine), (5, 5), data=True)


def of_networks() -> Iterator[Row]:
    for what, name, low, high, form in (
        ("coverage", "coverage", 0.87, 0.95, ".1%"),
        ("error / floor", "error", -np.inf, 2.0, ".2f"),
        ("CRPS / bare network", "crps", -np.inf, 1.0, ".3f"),
        ("the same on the worst set", "worst crps", -np.inf, 1.05, ".3f"),
    ):
        measure = named(name, cases.networks)
        yield Row("networks", what, low, high, form, measure, (2, 5), data=True)


def of_judging() -> Iterator[Row]:
    runs = (1000, 4000)
    perfect, narrow = partial(cases.rejected, 1.0, 100), partial(cases.rejected, 1.25, 100)
    yield Row("judging", "perfect map, rejected at 5%", 0.04, 0.06, ".1%", perfect, runs)
    yield Row("judging", "the same, 20% too narrow", 0.5, np.inf, ".1%", narrow, runs)


def of_weights() -> Iterator[Row]:
    runs = (200, 2000)
    plain, growing = (partial(cases.importance_weights, *p) for p in ((2.0, 0.0), (1.5, 0.5)))
    yield Row("weights", "exp(2 x)", *COVER, plain, runs)
    yield Row("weights", "exp(1.5 x), spread exp(x / 2)", *COVER, growing, runs)


def of_small_groups() -> Iterator[Row]:
    for what, name, low, high, form in (
        ("5 rows with fourfold noise", "noisy 5", 0.85, 0.95, ".1%"),
        ("10 rows with fourfold noise", "noisy 10", 0.85, 0.95, ".1%"),
        ("20 rows with fourfold noise", "noisy 20", 0.85, 0.95, ".1%"),
        ("5 ordinary rows", "smallest", 0.85, 0.95, ".1%"),
        ("all ordinary groups", "ordinary", 0.88, 0.93, ".1%"),
        ("the same, CRPS / known noise", "crps", -np.inf, 1.01 * 1.020, ".3f"),
    ):
        yield Row("small-groups", what, low, high, form, named(name, cases.small_groups), (40, 400))


def of_tails() -> Iterator[Row]:
    for name, law in (("t3", stats.t(3)), ("lognormal", stats.lognorm(1.0))):
        for n in (500, 700, 1000):
            measure = partial(cases.exceeded, law, n)
            what = f"{name}, {n:,} rows, exceeded / 0.1%"
            yield Row("tails", what, 0.5, 2.0, ".2f", measure, (1000, 10_000))


# ---- output ------------------------------------------------------------------------------

HEADS = ("case", "what", "before", "now", "wanted", "")


def measured(chosen: Sequence[Row], full: bool) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each line as soon as they are measured."""
    for row in chosen:
        try:
            mean = row.run(row.runs[full])
            now, verdict = row.now(mean), row.judge(mean)
        except (ArithmeticError, TypeError, ValueError) as error:
            now, verdict = type(error).__name__, "NOT"  # the other lines are of use without it
        yield row.case, row.what, row.before, now, row.wanted, verdict


def page(lines: Sequence[Sequence[str]], command: Sequence[str], seconds: float) -> str:
    """Return the table as Markdown."""
    about = (__doc__ or "").split("\n\n")[2]
    cells = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join(
        [
            "# Real data and its faults",
            "",
            f"{league.made_by(command)} It took {seconds / 60:.0f} minutes.",
            "",
            about,
            "",
            f"| {' | '.join(HEADS)} |",
            f"|{'---|' * len(HEADS)}",
            *cells,
            "",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options, measure, print."""
    everything = list(rows())
    names = list(dict.fromkeys(row.case for row in everything))
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(names)}; default all")
    parser.add_argument("--full", action="store_true", help="more runs of everything")
    parser.add_argument("--output", type=Path, help="Markdown file to write the table to")
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.cases if name not in names]:
        parser.error(f"there is no case {unknown[0]!r}; expected some of {', '.join(names)}.")
    league.check_output(parser, options.output)
    chosen = [row for row in everything if row.case in (options.cases or names)]
    if "TRUELINE_DATA" not in os.environ and any(row.data for row in chosen):
        left_out = dict.fromkeys(row.case for row in chosen if row.data)
        print(f"Left out, because TRUELINE_DATA is not set: {', '.join(left_out)}.")
        chosen = [row for row in chosen if not row.data]
    widths = (14, 42, 18, 20, 18, 0)
    print("".join(head.ljust(width) for head, width in zip(HEADS, widths, strict=True)).rstrip())
    started, lines = time.perf_counter(), []
    for line in measured(chosen, options.full):
        lines.append(line)
        print("".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)), flush=True)
    seconds = time.perf_counter() - started
    wrong = sum(line[-1] == "NOT" for line in lines)
    verb = "is" if wrong == 1 else "are"
    print(f"{len(lines)} lines in {seconds:.0f} s, of which {wrong} {verb} not as wanted.")
    if options.output is not None:
        command = ["python", "benchmarks/real.py", *(["--full"] if options.full else [])]
        write_text(options.output, page(lines, [*command, *options.cases], seconds))


if __name__ == "__main__":
    main()
