"""Pages: templates, fixed findings, and what is committed in results/."""

import csv
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from reproduce import pages, rewrite
from reproduce.cells import Cell, standard_error
from reproduce.epochs.page import csv_of as epochs_csv
from reproduce.forecast.page import csv_of as forecast_csv
from reproduce.inventory import rewards
from reproduce.inventory.page import csv_of as inventory_csv
from reproduce.pictures import band
from reproduce.table1.cells import by_model
from reproduce.table1.page import csv_of as table1_csv
from reproduce.table1.pictures import rows_worth

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "results").is_dir(), reason="an sdist has no results")
WITH_TEMPLATE = ("table1", "epochs", "forecast", "inventory", "depth")


def committed(name, file):
    lines = (ROOT / "results" / name / file).read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]


def page_of(name):
    return (ROOT / "results" / name / f"{name}.md").read_text()


@pytest.mark.parametrize("name", ["figure2", *WITH_TEMPLATE])
def test_a_committed_page_names_its_command_and_its_pictures(name):
    text = page_of(name)
    assert f'Made by `make reproduce ARGS="{name}"` with Python ' in text
    assert "{{" not in text
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert (ROOT / "results" / name / picture).is_file()


@pytest.mark.parametrize("name", WITH_TEMPLATE)
def test_a_committed_page_is_written_from_the_committed_numbers(name, tmp_path):
    """Text or numbers that differ would be lost when the page is written again."""
    shutil.copytree(ROOT / "results" / name, tmp_path / name)
    rewrite.rewrite(tmp_path / name, name)
    assert (tmp_path / name / f"{name}.md").read_text() == page_of(name)


@pytest.mark.parametrize("name", ["figure2", *WITH_TEMPLATE])
def test_a_page_has_the_form_of_all_pages_and_at_most_1200_words(name):
    text = page_of(name)
    heads = re.findall("^## (.*)$", text, re.MULTILINE)
    expected = ["What the paper claims", "Side by side, in the paper's protocol"]
    expected += ["Ours by better protocols", "Verdict", "Data and models", "The command"]
    assert heads == [*expected, "Pictures"]
    assert sum(bool(re.search(r"\w", word)) for word in text.split()) <= 1200


def test_a_quick_page_says_that_its_numbers_mean_nothing():
    for options, expected in (({"quick": True}, 1), ({"seeds": 2}, 0), ({}, 0)):
        command = pages.command_line("inventory", options)
        values = {"made": "Made.", "sections": "", "gains": ""}
        text = pages.page("inventory", command, values)
        assert text.count("**This was a quick run.") == expected
        assert text.count("its numbers mean nothing.**") == expected


@pytest.mark.parametrize("name", ["figure2", *WITH_TEMPLATE])
def test_numbers_in_the_findings_are_in_the_tables(name):
    """The findings are fixed texts: a new full run must not leave old numbers in them."""
    findings = (ROOT / "reproduce" / name / "findings.md").read_text()
    rest = page_of(name).replace(findings.rstrip(), "")
    rest += (ROOT / "reproduce" / name / "page.md").read_text()
    unknown = [
        number
        for number in re.findall(r"[-+]?\d[\d,]*\.\d+(?:e-\d+)?|[-+]\d+(?:,\d+)*", findings)
        if number not in rest
    ]
    of_the_paper = {"2.28"} if name == "depth" else set()
    assert set(unknown) <= of_the_paper


def test_only_the_full_run_has_findings(tmp_path):
    values = {"made": "Made.", "sections": "", "gains": ""}
    full = pages.page("inventory", pages.command_line("inventory", {}), values)
    other = pages.page("inventory", pages.command_line("inventory", {"seeds": 2}), values)
    findings = (ROOT / "reproduce" / "inventory" / "findings.md").read_text()
    assert findings.rstrip() in full
    assert findings.rstrip() not in other
    assert "not the results of the full run" in other


@pytest.mark.parametrize(
    "name, file, csv_of",
    [
        ("table1", "splits.jsonl", table1_csv),
        ("epochs", "runs.jsonl", epochs_csv),
        ("forecast", "runs.jsonl", forecast_csv),
        ("inventory", "runs.jsonl", inventory_csv),
    ],
)
def test_the_committed_numbers_come_from_the_committed_journal(name, file, csv_of):
    expected = (ROOT / "results" / name / f"{name}.csv").read_text().splitlines()
    found = csv_of(committed(name, file)).splitlines()
    assert found[0] == expected[0]
    for line, other in zip(found[1:], expected[1:], strict=True):
        for cell, known in zip(line.split(","), other.split(","), strict=True):
            try:
                assert float(cell) == pytest.approx(float(known), rel=1e-9)
            except ValueError:
                assert cell == known


def test_numbers():
    assert pages.number(1234.5678) == "1,235"
    assert pages.number(0.012345, 0.0004) == "0.01235 ± 0.00040"
    assert pages.number(0.0) == "0.000"
    assert pages.share(0.8498, 0.011) == "85.0 ± 1.1%"
    assert standard_error([1.0]) is None
    assert standard_error([1.0, 3.0]) == 1.0


def test_the_band_is_that_of_the_independent_rows():
    records = [
        record for record in committed("table1", "splits.jsonl") if record["dataset"] == "wine"
    ]
    (cell,) = by_model([r for r in records if r["model"] == "dropout"])["dropout"]
    single = Cell(cell.dataset, cell.model, cell.records[:1])
    assert rows_worth(single) == cell.size("n_test")
    # Five splits of a quarter of the rows: n / (1/4 + 3/4/5).
    assert rows_worth(cell) == pytest.approx(400 / (400 / 1599 + (1 - 400 / 1599) / 5))
    lower, upper = band(rows_worth(cell))
    assert lower[0] == 0.0 < lower[20] < 0.5 < upper[20] < upper[-1] == 1.0


def test_rewards_are_compared_on_the_same_weeks():
    places = rewards.places(committed("inventory", "runs.jsonl"))
    assert [place.store for place in places] == [44, 51]
    policies = rewards.policies_of(places)
    assert policies[0] == "planner before 0"
    same = rewards.difference(places, policies[0], policies[0])
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)
    one = rewards.reward(places, policies[0])
    assert one.low < one.value < one.high
    shift = rewards.Place(1, 14, {"a": [{"reward": 3.0, "weekly": [1.0, 2.0]}]}, 1)
    assert set(np.unique(shift.draws("a"))) == {2.0, 3.0, 4.0}


def test_the_claims_of_the_paper_are_counted_as_in_the_committed_table():
    with (ROOT / "results" / "table1" / "table1.csv").open(newline="") as file:
        rows = {(r["dataset"], r["model"], r["variant"]): r for r in csv.DictReader(file)}
    sets = {dataset for dataset, _, _ in rows}

    def error(*key):
        return float(rows[key]["calibration_error"])

    baselines = {
        d: min(error(d, model, "before") for model in ("concrete-dropout", "deep-ensemble"))
        for d in sets
    }
    for variant, column in (("training", 3), ("refit", 4), ("crossfit", 5)):
        after = {d: error(d, "dropout", variant) for d in sets}
        reached = sum(
            after[d] <= float(rows[d, "dropout", variant]["paper_recalibrated"]) for d in sets
        )
        for text, count in (
            ("Recalibrated MC dropout beats both", sum(after[d] < baselines[d] for d in sets)),
            ("MC dropout reaches the paper's error", reached),
        ):
            (line,) = (x for x in page_of("table1").splitlines() if x.startswith(f"| {text}"))
            assert line.split("|")[column].strip() == f"{count} of 8"
