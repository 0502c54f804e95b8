"""The table of coverages runs, in a size below its quick one, and its exact law is the law."""

import importlib.util
import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import trueline as tl

EXAMPLE = Path(__file__).parents[1] / "examples" / "coverage_table.py"


@pytest.fixture(scope="module")
def example():
    """The example as a module, by a name that the coverage package does not have."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLE.parent)  # it imports the league table beside it
        spec = importlib.util.spec_from_file_location("coverage_example", EXAMPLE)
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        yield module


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_every_way_has_its_table(example, tmp_path, capsys):
    file = tmp_path / "coverage.md"
    arguments = ["--quick", "--sets", "diabetes", "counts", "--bases", "LinearRegression"]
    example.main([*arguments, "Pipeline", "--output", str(file)])
    printed, text = capsys.readouterr().out, file.read_text("utf-8")
    assert printed.endswith(text)
    assert sum(line.startswith("[") for line in printed.splitlines()) == 4 * 2 * 2
    assert f"`python examples/coverage_table.py {' '.join(arguments)} Pipeline`" in text
    assert f"numpy {np.__version__}" in text
    assert f"trueline {tl.__version__}" in text
    assert str(tmp_path) not in text
    assert [path.name for path in tmp_path.iterdir()] == ["coverage.md"]

    sections = text.split("## ")[1:]
    assert [section.split("\n", 1)[0] for section in sections] == list(example.WAYS)
    for section in sections:
        head, rule, *rows = [cells(line) for line in section.splitlines() if line[:1] == "|"]
        assert head[:9] == ["base", "set", "rows", "test", "seeds", "50%", "80%", "90%", "95%"]
        assert set("".join(rule)) == {"-"}
        assert [row[:2] for row in rows] == [
            [base, name]
            for base in ("LinearRegression", "Pipeline")
            for name in ("diabetes", "counts", "mean minus nominal")
        ]
        for row in rows:
            form = r"[+-]\d+\.\d\d ± \d+\.\d\d" if row[2] == "" else r"\d+\.\d( \[\d+, \d+\])?"
            assert all(re.fullmatch(form, cell) for cell in row[5:9]), row
    law, nearly, pooled, ensemble = sections
    assert "48 comparisons with the exact law" in law
    assert ": 0 outside at 99.9% for all at once" in law
    assert "comparisons with the law, here not quite exact" in nearly
    for section in (pooled, ensemble):
        assert re.search(r"of 8 means over sets are outside -1 to \+3 points[:.]\n", section)


def test_frozen_models_follow_the_exact_law(example):
    tasks = list(example.tasks_of(["frozen"], example.BASES, ["diabetes", *example.MADE], True))
    results = [example.measure(task) for task in tasks]
    share = example.share_of(len(results) * len(example.EVENTS))
    assert not np.any([example.outside(result, share) for result in results])


def test_forecasts_that_are_too_sure_do_not(example):
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    task = example.Task("frozen", "none", "none", 0, True)
    share = example.share_of(1000)
    for width, wrong in [(1.0, False), (0.5, True), (2.0, True)]:
        counts = example.count(tl.Normal(np.zeros(300), width), y)
        outside = example.outside(example.Result(task, 300, 300, *counts), share)
        assert outside[: len(example.COVERAGES)].any() == wrong


@pytest.mark.parametrize("low, high", [(0.3, 0.8), (0.0, 0.8), (0.3, 1.0), (0.05, 0.95)])
@pytest.mark.parametrize("share", [0.01, 0.1])
def test_the_band_is_that_of_all_orders_of_scores(example, low, high, share):
    """Every way to mix n scores that calibrate with m fresh ones is as likely as the others."""
    n, m = 6, 5
    first, last = int(np.floor(low * (n + 1))), int(np.floor(high * (n + 1)))
    few, many = [], []
    for chosen in itertools.combinations(range(n + m), n):
        fresh = np.setdiff1d(np.arange(n + m), chosen)
        score = np.array([-np.inf, *chosen, np.inf, np.inf])
        lower, upper = score[first + 1] if low else -np.inf, score[last]
        few.append(np.sum((fresh > lower) & (fresh < upper)))
        many.append(np.sum((fresh > score[first]) & (fresh < score[last + 1])))
    least = min(c for c in range(m + 1) if np.mean(np.array(few) <= c) > share)
    most = max(c for c in range(m + 1) if np.mean(np.array(many) >= c) > share)
    assert example.band(n, m, low, high, share) == (least, most)


def test_ties_count_as_inside_but_not_as_strictly_inside(example):
    rng = np.random.default_rng(1)
    y = rng.integers(0, 6, size=400).astype(float)
    forecast = tl.Normal(np.zeros(200), 1.0)
    with pytest.warns(tl.CalibrationWarning, match="6 distinct scores"):
        dist = tl.Isotonic(support=None).fit(y[:200], forecast).transform(forecast)
    new = y[200:]
    inside, strictly, tied = example.count(dist, new)
    lower, upper = dist.interval(example.COVERAGES)
    closed = (lower <= new[:, None]) & (new[:, None] <= upper)
    opened = (lower < new[:, None]) & (new[:, None] < upper)
    assert inside[: len(example.COVERAGES)] == tuple(closed.sum(axis=0))
    assert strictly[: len(example.COVERAGES)] == tuple(opened.sum(axis=0))
    assert tied == 200
    # Intervals of counts hold too often; that is not held against the law, too few would be.
    task = example.Task("frozen", "none", "none", 0, True)
    result = example.Result(task, 200, 200, inside, strictly, tied)
    _, most = example.band(200, 200, *example.EVENTS[0], 0.025)
    assert inside[0] > most
    assert not example.outside(result, 0.025)[0]


def test_averages_are_over_sets_and_their_error_is_no_less_than_chance(example):
    def result(data, seed, covered):
        task = example.Task("pooled", "none", data, seed, True)
        return example.Result(task, 400, 100, covered, covered, 0)

    split = [result("a", 0, (60, 80, 90, 95)), result("a", 1, (50, 80, 90, 95))]
    other = result("b", 0, (45, 80, 90, 95))
    off, error = example.averages([*split, other])
    np.testing.assert_allclose(off, [0.0, 0.0, 0.0, 0.0], atol=1e-12)
    # Sets at +5 and -5 points; elsewhere they agree, and one set has half the other's variance.
    chance = 100.0 * np.sqrt(0.8 * 0.2 * (1 / 400 + 1 / 100) * (1 + 0.5) / 4)
    np.testing.assert_allclose(error[:2], [5.0, chance])


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["--sets", "boston"], "argument --sets: invalid choice: 'boston'"),
        (["--bases", "Lasso"], "argument --bases: invalid choice: 'Lasso'"),
        (["--ways", "train"], "argument --ways: invalid choice: 'train'"),
        (["--jobs", "0"], "--jobs is 0; expected 1 or more."),
        (["--output", "no-such-folder/c.md"], "its folder does not exist; create it first."),
        (["--output", "."], "--output . is a folder; expected a file's name."),
    ],
)
def test_bad_options_are_refused_before_anything_is_measured(
    example, arguments, said, capsys, monkeypatch
):
    monkeypatch.setattr(example, "measure", lambda task: pytest.fail("measured"))
    with pytest.raises(SystemExit) as stop:
        example.main(["--quick", *arguments])
    assert stop.value.code == 2
    assert said in capsys.readouterr().err


def test_sets_that_are_not_there_are_left_out(example, capsys, monkeypatch, tmp_path):
    arguments = ["--quick", "--ways", "frozen", "--bases", "LinearRegression", "--sets"]
    monkeypatch.delenv("TRUELINE_DATA", raising=False)
    example.main([*arguments, "mpg", "diabetes"])
    printed = capsys.readouterr().out
    assert printed.startswith("mpg is left out: TRUELINE_DATA is not set; expected the folder")
    assert "Left out, for want of data: mpg." in printed
    monkeypatch.setenv("TRUELINE_DATA", str(tmp_path))
    with pytest.raises(SystemExit, match="No set is left of cpu, mpg; add diabetes"):
        example.main([*arguments, "cpu", "mpg"])
    assert "cpu is left out" in capsys.readouterr().out


def test_two_at_a_time_is_the_same_table(example, capsys):
    arguments = ["--quick", "--ways", "frozen", "--bases", "LinearRegression"]
    arguments += ["--sets", "diabetes", "counts"]
    example.main(arguments)
    alone = capsys.readouterr().out
    command = [sys.executable, str(EXAMPLE), *arguments, "--jobs", "2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    both = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert both.returncode == 0, both.stderr
    assert both.stdout.partition("\n\n")[2] == alone.partition("\n\n")[2]
