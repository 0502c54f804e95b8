"""Real data and its faults: every case that the defaults must survive, as one line each.

    python benchmarks/real.py                  # about three minutes on one core
    python benchmarks/real.py --full           # more runs of everything; an hour
    python benchmarks/real.py groups copies    # some cases
    python benchmarks/real.py --output results/real.md

The cases are rows in groups, copied rows, counts, collapsed forecasts, rain, ratings, small sets
with networks, maps of few rows, importance weights, small groups and heavy tails. Every line shows
the number that was measured before the library handled the case, the number now with its standard
error over runs, and the range that is wanted. The number before is the one in the description of
the problem, and in brackets the one that this script measures with the same release.

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


@dataclass(frozen=True)
class Row:
    """One line: a measurement and the range that is wanted.

    `runs` are the numbers of runs by default and with --full; `data` is whether it needs data sets.
    """

    case: str
    what: str
    before: str
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
        """Return how many standard errors a mean is outside the wanted range; 0 inside."""
        distance = max(self.low - mean.value, mean.value - self.high, 0.0)
        if distance == 0.0:
            return 0.0
        return distance / mean.error if mean.error > 0.0 else np.inf

    def judge(self, mean: Mean) -> str:
        beyond = self.beyond(mean)
        return "ok" if beyond == 0.0 else "NOT" if beyond > 2.0 else "within 2 s.e."

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


def at_most(
    case: str,
    what: str,
    before: str,
    high: float,
    measure: Callable[[int], Mean],
    runs: tuple[int, int],
    form: str = ".3f",
    data: bool = False,
) -> Row:
    """Return a line whose number has no lower limit."""
    return Row(case, what, before, -np.inf, high, form, measure, runs, data)


def named(
    name: str, measure: Callable[..., dict[str, Mean]], *args: object
) -> Callable[[int], Mean]:
    """Return the measurement of one of several numbers, which are measured together once."""
    return lambda runs: measure(*args, runs)[name]


# ---- the table ---------------------------------------------------------------------------


def rows() -> Iterator[Row]:
    """Yield all lines, in order."""
    for part in (of_groups, of_copies, of_counts, of_collapsed, of_sets, of_judging, of_few_rows):
        yield from part()


def of_groups() -> Iterator[Row]:
    makes = (
        ("random intercepts", cases.random_intercepts, ("75% (79.0%)", "73% (78.0%)")),
        ("own variance", cases.group_variance, ("(x%)", "(x%)")),
        ("shifts", cases.group_shifts, ("(x%)", "(x%)")),
    )
    for name, make, before in makes:
        for method, said in zip(("isotonic", "conditional"), before, strict=True):
            measure = partial(cases.new_groups, make, method)
            yield Row("groups", f"{name}, {method}", said, *COVER, measure, (8, 80))


def of_copies() -> Iterator[Row]:
    makes = (
        ("each row four times", cases.four_times, "68% (x%)"),
        ("a third of the rows copied", cases.third_copied, "(x%)"),
        ("40 rows six times, 120 once", cases.copies_and_unique, "(x%)"),
    )
    for name, make, said in makes:
        measure = partial(cases.copies, make)
        yield Row("copies", name, said, 0.87, 0.93, ".1%", measure, (16, 200))
    one = named("coverage", cases.weekdays)
    yield Row("copies", "weekday only, coverage", "(x)", *COVER, one, (8, 80))
    ratio = named("crps", cases.weekdays)
    yield at_most("copies", "weekday only, CRPS / shuffled folds", "(1.000)", 1.005, ratio, (8, 80))
    ratio = named("crps", partial(cases.weekdays, counts=True))
    yield at_most("copies", "weekday, counts, CRPS / shuffled", "(1.000)", 1.005, ratio, (8, 80))


def of_counts() -> Iterator[Row]:
    before = {10: ("(x)", "(x)"), 50: ("(x)", "(x)"), 1000: ("1.16 (x)", "+0.53 (x)")}
    for draws, (ratio, shift) in before.items():
        runs = (10, 100)
        measure = named("crps", cases.poisson_map, draws)
        yield at_most("counts", f"{draws:,} Poisson draws, CRPS", ratio, 1.003, measure, runs)
        measure = named("shift", cases.poisson_map, draws)
        what = f"{draws:,} Poisson draws, shift"
        yield Row("counts", what, shift, -0.02, 0.02, "+.3f", measure, runs)
    floor = 0.8, 1.2, ".2f"
    yield Row(
        "counts",
        "Poisson quantiles, error / floor",
        "232 (x)",
        *floor,
        cases.poisson_quantiles,
        (200, 1000),
    )
    measure = named("error", cases.perfect_draws)
    yield Row("counts", "ten perfect draws, error / floor", "20 (x)", *floor, measure, (200, 1000))
    measure = named("said", cases.perfect_draws)
    yield Row("counts", "ten draws, verdict says why", "(0)", 1.0, 1.0, ".0%", measure, (200, 1000))


def of_collapsed() -> Iterator[Row]:
    makes = (
        ("Isotonic", tl.Isotonic, ("x4 (x)", "(x)")),
        ("Scaling", tl.Scaling, ("x10,000 (x)", "(x)")),
        ("Conditional", cases.conditional, ("x20,000 (x)", "(x)")),
    )
    for name, make, before in makes:
        for k, said in zip((1, 5), before, strict=True):
            measure = named("crps", cases.collapsed, make, k)
            what = f"{k} of 1,000, {name}, CRPS"
            yield at_most("collapsed", what, said, 1.01, measure, (5, 50))
    off = named("mean", cases.collapsed, tl.Isotonic, 1)
    yield at_most("collapsed", "1 of 1,000, Isotonic, mean off", "1,630 (x)", 0.05, off, (5, 50))


def of_sets() -> Iterator[Row]:
    point, features = precipitation.point_conditional, precipitation.point_with_features
    ensemble = precipitation.ensemble_isotonic
    recipes = (
        ("lead 1, point, Conditional, CRPS", "crps", point, 1, "3536 (3536)", 0.75, ".3f"),
        ("the same, lower ends below 0", "below", point, 1, "69% (73.4%)", 0.0, ".1%"),
        ("the same, features of the ensemble", "crps", features, 1, "0.800 (0.727)", 0.69, ".3f"),
        ("lead 1, ensemble, Isotonic, CRPS", "crps", ensemble, 1, "0.743 (0.743)", 0.69, ".3f"),
        ("lead 4, ensemble, Isotonic, CRPS", "crps", ensemble, 4, "(0.898)", 0.89, ".3f"),
    )
    for what, name, recipe, lead, said, high, form in recipes:
        measure = named(name, cases.rain, recipe, lead)
        yield at_most("rain", what, said, high, measure, (2, 5), form, data=True)
    runs = (1, 5)
    measure = named("crps", cases.wine)
    yield at_most("wine", "CRPS / climatology", "0.765 (x)", 0.65, measure, runs, data=True)
    measure = named("coverage", cases.wine)
    yield Row("wine", "coverage", "(x)", 0.88, 1.0, ".1%", measure, runs, data=True)
    measure = named("smallest", cases.wine)
    yield Row("wine", "smallest sets of 90%", "(x)", 1.0, 1.0, ".1%", measure, runs, data=True)
    measure = named("coverage", cases.networks)
    yield Row("networks", "coverage", "66%, 68%", 0.87, 0.95, ".1%", measure, runs, data=True)
    measure = named("error", cases.networks)
    yield at_most("networks", "error / floor", "18", 2.0, measure, runs, ".2f", data=True)
    measure = named("crps", cases.networks)
    yield at_most("networks", "CRPS / bare", "", 1.0, measure, runs, data=True)
    measure = named("worst crps", cases.networks)
    yield at_most("networks", "CRPS / bare, worst set", "1.46", 1.05, measure, runs, data=True)


def of_judging() -> Iterator[Row]:
    measure = partial(cases.rejected, 1.0)
    yield Row(
        "judging", "perfect map, rejected", "98% (x)", 0.04, 0.06, ".1%", measure, (1000, 4000)
    )
    measure = partial(cases.rejected, 1.25)
    what = "20% too narrow, rejected"
    yield Row("judging", what, "(x)", 0.5, np.inf, ".1%", measure, (1000, 4000))


def of_few_rows() -> Iterator[Row]:
    measure = partial(cases.importance_weights, 2.0, 0.0)
    yield Row("weights", "exp(2 x), one spread", "84.8% (x)", *COVER, measure, (200, 2000))
    measure = partial(cases.importance_weights, 1.5, 0.5)
    yield Row("weights", "exp(1.5 x), spread exp(x / 2)", "(x)", *COVER, measure, (200, 2000))
    runs = (40, 400)
    for size, said in zip(cases.NOISY, ("69% (x)", "78% (x)", "88% (x)"), strict=True):
        measure = named(f"noisy {size}", cases.small_groups)
        what = f"{size} rows with fourfold noise"
        yield Row("small groups", what, said, 0.85, 0.95, ".1%", measure, runs)
    measure = named("smallest", cases.small_groups)
    yield Row("small groups", "5 ordinary rows", "(x)", 0.85, 0.95, ".1%", measure, runs)
    measure = named("ordinary", cases.small_groups)
    yield at_most("small groups", "all ordinary groups", "(x)", 0.93, measure, runs, ".1%")
    measure = named("crps", cases.small_groups)
    yield at_most("small groups", "the same, CRPS / known noise", "(1.020)", 1.030, measure, runs)
    for name, law, before in (("t3", stats.t(3), "xxx"), ("lognormal", stats.lognorm(1.0), "xxx")):
        for n, said in zip((500, 700, 1000), before, strict=True):
            what = f"{name}, {n:,} rows, exceeded / 0.1%"
            measure = partial(cases.exceeded, law, n)
            yield Row("tails", what, said, 0.5, 2.0, ".2f", measure, (1000, 10_000))


# ---- output ------------------------------------------------------------------------------

HEADS = ("case", "what", "before", "now", "wanted", "")


def measured(chosen: Sequence[Row], full: bool) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each line as soon as they are measured."""
    for row in chosen:
        mean = row.run(row.runs[full])
        yield row.case, row.what, row.before, row.now(mean), row.wanted, row.judge(mean)


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
    widths = (13, 38, 18, 18, 18, 0)
    print("".join(head.ljust(width) for head, width in zip(HEADS, widths, strict=True)).rstrip())
    started, lines = time.perf_counter(), []
    for line in measured(chosen, options.full):
        lines.append(line)
        print("".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)), flush=True)
    seconds = time.perf_counter() - started
    wrong = sum(line[-1] == "NOT" for line in lines)
    print(f"{len(lines)} lines in {seconds:.0f} s, of which {wrong} are not as wanted.")
    if options.output is not None:
        command = ["python", "benchmarks/real.py", *(["--full"] if options.full else [])]
        write_text(options.output, page(lines, [*command, *options.cases], seconds))


if __name__ == "__main__":
    main()
