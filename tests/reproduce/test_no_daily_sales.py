"""No committed file may give away the sales of a day, which we are not allowed to publish.

All numeric series of at least 100 entries in results/, docs/ and reproduce/ are compared with the
daily sales of each store, in any alignment: the series, its differences (of a cumulative sum) and
its ratios. Where the sales are not at hand, only the form of the journals is checked.
"""

import csv
import itertools
import json
import os
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import rankdata

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "results").is_dir(), reason="an sdist has no results")
DAILY = 100
#: Above this rank correlation a series follows the sales. `test_limits` simulates how high series
#: that know nothing of the sales come by chance, at the best of all alignments.
CORRELATION = 0.65
#: Share of days whose sales are a fixed multiple of the series, to the unit.
RECOVERED = 0.2

needs_data = pytest.mark.skipif(
    not os.environ.get("TRUELINE_DATA"), reason="TRUELINE_DATA is not set"
)


# ---- series in files -------------------------------------------------------------------


def numeric(values):
    """Return the first number of each value; None if fewer than 100 values have one."""
    texts = (str(value).replace(",", "").strip(" $%+") for value in values)
    matches = (re.match(r"-?\d+\.?\d*(e[-+]?\d+)?", text) for text in texts)
    found = np.array([float(match[0]) for match in matches if match])
    return found if len(found) >= DAILY else None


def lists_in(value):
    """Yield all lists in a JSON value, and the values of each key of a list of dicts."""
    if isinstance(value, dict):
        for part in value.values():
            yield from lists_in(part)
    elif isinstance(value, list):
        yield value
        for part in value:
            yield from lists_in(part)
        yield from columns_of(value)


def columns_of(records):
    """Yield the numbers that stand at the same place in all records."""
    found = {}

    def walk(place, value):
        if isinstance(value, dict):
            for key, part in value.items():
                walk((*place, key), part)
        elif not isinstance(value, list):
            found.setdefault(place, []).append(value)

    for record in records:
        walk((), record)
    yield from found.values()


def tables_in(text):
    """Yield the columns of the Markdown tables."""
    for is_table, lines in itertools.groupby(text.splitlines(), lambda line: line.startswith("|")):
        if is_table:
            rows = [line.strip("|").split("|") for line in lines]
            yield from zip(*(row for row in rows if len(row) == len(rows[0])), strict=True)


def series_in(path):
    """Yield all long numeric series of a file."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return  # a picture
    if path.suffix == ".jsonl":
        records = [json.loads(line) for line in text.splitlines()]
        candidates = itertools.chain(lists_in(records), columns_of(records))
    elif path.suffix == ".json":
        candidates = lists_in(json.loads(text))
    elif path.suffix == ".csv":
        candidates = zip(*itertools.islice(csv.reader(text.splitlines()), 1, None), strict=True)
    else:
        runs = re.findall(rf"(?:-?\d[\d.]*(?:e[-+]?\d+)?[,;\s]+){{{DAILY},}}", text)
        candidates = itertools.chain(tables_in(text), (re.split(r"[,;\s]+", r)[:-1] for r in runs))
    for candidate in candidates:
        series = numeric(candidate)
        if series is not None:
            yield series


def committed():
    for folder in ("results", "docs", "reproduce"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts and "-quick" not in str(path):
                yield path


# ---- comparison with the sales ---------------------------------------------------------


class Sales:
    """The sales of the stores, ready to be compared with series of any length."""

    def __init__(self, stores):
        self._stores = stores
        self._windows = {}

    def windows(self, n):
        """Return all runs of n days, and their ranks with mean 0 and length 1."""
        if n not in self._windows:
            runs = [
                np.lib.stride_tricks.sliding_window_view(sales, n)
                for sales in self._stores
                if len(sales) >= n
            ]
            windows = np.concatenate(runs) if runs else np.empty((0, n))
            self._windows[n] = windows, standardised(windows)
        return self._windows[n]

    def followed_by(self, series, correlation=CORRELATION, share=RECOVERED):
        """Whether a series, its differences or its ratios reach one of the limits."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = series[1:] / series[:-1]
        for values in (series, np.diff(series), ratios):
            if not np.isfinite(values).all() or len(np.unique(values)) < DAILY / 5:
                continue
            windows, ranks = self.windows(len(values))
            correlations = np.abs(ranks @ standardised(values[None])[0])
            if correlations.max(initial=0.0) >= correlation or recovers(values, windows, share):
                return True
        return False


def standardised(rows):
    ranks = rankdata(rows, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    return ranks / np.maximum(np.linalg.norm(ranks, axis=1, keepdims=True), 1e-12)


def recovers(values, windows, share):
    """Whether one multiple of the values gives the sales of this share of the days, to the unit."""
    nonzero = values != 0
    count = int(np.ceil(share * len(values)))
    if not len(windows) or count > nonzero.sum():
        return False
    with np.errstate(divide="ignore"):
        ratios = np.sort(np.log(np.abs(windows[:, nonzero] / values[nonzero])), axis=1)
    ratios[~np.isfinite(ratios)] = -1e9  # days without sales
    # Width of the narrowest run of `count` ratios, compared with one unit on a typical day.
    narrowest = ratios[:, count - 1 :] - ratios[:, : ratios.shape[1] - count + 1]
    used = ratios[:, : ratios.shape[1] - count + 1] > -1e9
    return bool((used & (narrowest <= 1.0 / np.median(windows))).any())


@pytest.fixture(scope="module")
def sales():
    from reproduce.sales.data import load_sales

    stores = []
    for store in (44, 51):
        frame = load_sales(store).frame
        used = frame["date"] >= np.datetime64("2016-01-01")  # the period of every experiment
        dates, values = frame["date"][used], frame["value"][used]
        calendar = np.zeros((dates[-1] - dates[0]).astype(int) + 1)
        calendar[(dates - dates[0]).astype(int)] = values
        stores += [values, calendar]
    return Sales(stores)


# ---- tests -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["forecast", "inventory"])
def test_journals_have_no_daily_series(name):
    text = (ROOT / "results" / name / "runs.jsonl").read_text()
    for line in text.splitlines():
        record = json.loads(line)
        for values in lists_in(record):
            assert len(values) <= 31
        if name == "inventory" and record.get("policies"):
            for policy in record["policies"].values():
                keys = {"reward", "sold", "lost", "spoiled", "came", "weekly"}
                assert keys <= set(policy) <= keys | {"bound"}


@needs_data
def test_no_file_follows_the_sales(sales):
    checked = 0
    for path in committed():
        for series in series_in(path):
            checked += 1
            assert not sales.followed_by(series), path
    assert checked > 50  # columns of Table 1 and of Figure 2


@needs_data
def test_no_file_quotes_the_sales_of_a_day():
    """Sales are quoted with three decimals, which hardly any other number of that size has."""
    from reproduce.sales.data import load_sales

    values = load_sales().frame["value"]
    quoted = {f"{value:.3f}" for value in values if value >= 50 and value * 100 % 1}
    for folder in ("benchmarks", "docs", "examples", "reproduce", "results", "src", "tests"):
        for path in (ROOT / folder).rglob("*.*"):
            if path.suffix in {".py", ".md", ".csv", ".json", ".jsonl", ".txt", ".html"}:
                numbers = re.findall(r"(?<![\d.,])\d+\.\d{3}(?!\d)", path.read_text("utf-8"))
                assert not quoted & set(numbers), path


@needs_data
def test_what_was_published_once_is_found(sales, tmp_path):
    """The series of the first journal: accrued rewards, payments of a planner, and forecasts."""
    from reproduce.sales.networks import FIRST, Series

    series = Series.of(44)
    demand = np.floor(series.sales(FIRST + np.arange(200)))
    accrued = (0.7 * demand).round(2)
    accrued[40:42] -= 100.0  # spoiled units
    paid = 1.99 * demand - 1.29 * np.where(np.arange(200) % 7 % 2, 12 * 190.0, 0.0)
    leaks = {
        "accrued": accrued.tolist(),
        "paid": paid.round(2).tolist(),
        "cumulative": np.cumsum(accrued).tolist(),
        "forecast": (0.9 * demand + np.random.default_rng(0).normal(0, 50, 200)).tolist(),
        "log_ratio": np.exp(np.cumsum(demand / 1e3)).tolist(),
    }
    for name, values in leaks.items():
        for suffix, text in {
            ".jsonl": json.dumps({"policies": {"planner": {name: values}}}) + "\n",
            ".csv": "\n".join([f"day,{name}", *(f"{i},{v}" for i, v in enumerate(values))]),
            ".md": "\n".join(["| a |", "| - |", *(f"| {v} |" for v in values)]),
            ".py": f"{name} = {values}\n",
        }.items():
            path = tmp_path / f"leak{suffix}"
            path.write_text(text)
            assert any(map(sales.followed_by, series_in(path))), (name, suffix)


@needs_data
def test_limits(sales):
    """Series without knowledge of the sales stay well below both limits at any alignment."""
    rng = np.random.default_rng(0)
    for n in (100, 160, 209):
        days = np.arange(n)
        for _ in range(3):
            noise = rng.normal(size=n)
            for series in (
                noise,
                np.cumsum(noise),
                np.sort(noise),
                np.exp(noise),
                rng.integers(1, 1000, n).astype(float),
                np.tile(rng.normal(size=5), n)[:n] + 0.1 * noise,
                np.sin(2 * np.pi * days / rng.uniform(10, 200)) + 0.3 * noise,
            ):
                assert not sales.followed_by(series, CORRELATION - 0.1, RECOVERED / 2)


def test_results_stay_out_of_the_sdist():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    taken = settings["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    # A pattern without a leading slash matches at any depth.
    assert all(pattern.startswith("/") for pattern in taken)
    assert not any(pattern.startswith(("/results", "/*/")) for pattern in taken)
