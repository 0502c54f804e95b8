"""The command line that lists and runs the experiments."""

from pathlib import Path

import pytest

from reproduce import ExperimentError, pages
from reproduce.command import listing
from reproduce.figure2 import experiment as figure2
from reproduce.table1 import experiment as table1
from trueline.datasets import DatasetError

OPTIONS = {
    "figure1": ["output"],
    "figure2": ["quick", "output"],
    "figure3": ["output"],
    "figure4": ["output"],
    "table1": ["datasets", "models", "splits", "jobs", "quick", "fresh", "output"],
    "forecast": ["stores", "seeds", "jobs", "quick", "fresh", "output"],
    "inventory": ["stores", "seeds", "jobs", "quick", "fresh", "output"],
    "epochs": ["jobs", "quick", "fresh", "output"],
    "depth": ["epochs", "seeds", "jobs", "quick", "fresh", "output"],
    "benchmark": ["sets", "models", "seeds", "jobs", "quick", "fresh", "output"],
    "pages": [],
}


@pytest.fixture
def seen(monkeypatch):
    """Replace the run of Table 1; return the options that it is called with."""
    found = []

    def run(*, progress, **options):
        progress(10, 0.5)
        found.append(options)
        return "the table"

    monkeypatch.setattr(table1, "run", run)
    return found


def test_without_a_name_the_experiments_are_listed(command):
    code, out, err = command()
    assert (code, out, err) == (0, f"{listing()}\n", "")
    assert [line.split()[0] for line in out.splitlines()[1:]] == list(OPTIONS)


@pytest.mark.parametrize("name, hint", [("figur2", " Did you mean 'figure2'?"), ("zzz", "")])
def test_an_unknown_name_gets_the_list(command, name, hint):
    expected = f"error: {name!r} is not an experiment.{hint} {listing()}\n"
    assert command(name) == (2, "", expected)


@pytest.mark.parametrize("name", OPTIONS)
def test_every_experiment_has_help(command, name):
    run = command(name, "--help")
    assert run.code == 0
    for option in OPTIONS[name]:
        assert f"--{option}" in run.out
    assert "--no-" not in run.out


def test_an_experiment_is_run_with_its_own_options(command, seen):
    assert command("table1") == (0, "the table\n", "")
    arguments = ["--datasets", "mpg", "--datasets", "auto", "--splits", "2", "--quick"]
    assert command("table1", *arguments, "--output", "there").code == 0
    first, second = seen
    assert not first.pop("datasets")
    assert not first.pop("models")
    defaults = {"splits": None, "jobs": 2, "quick": False, "fresh": False, "output": None}
    assert first == defaults
    assert second["datasets"] == ["mpg", "auto"]
    assert (second["splits"], second["quick"], second["output"]) == (2, True, Path("there"))


def test_an_unknown_option_is_refused(command, seen):
    run = command("table1", "--quikc")
    assert (run.code, run.out) == (2, "")
    assert "--quikc" in run.err
    assert not seen


@pytest.mark.parametrize("kind", [DatasetError, ExperimentError])
def test_an_error_of_the_user_is_one_line(command, monkeypatch, kind):
    def run(**options):
        raise kind("no such data; do this.")

    monkeypatch.setattr(figure2, "run", run)
    assert command("figure2") == (2, "", "error: no such data; do this.\n")


def test_a_folder_that_cannot_be_written_to_is_named_before_the_work(command, folder):
    (folder / "results").write_text("a file")
    run = command("figure2", "--quick", "--output", "results/figure2")
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith("error: cannot write to the folder results/figure2: ")
    assert run.err.endswith("Name another with --output.\n")


def test_a_quick_figure2(command, folder):
    run = command("figure2", "--quick")
    assert run.code == 0
    assert run.out.endswith("The figure, the curves and this table are in results/figure2-quick.\n")
    assert (folder / "results" / "figure2-quick" / "figure2.png").is_file()


def test_the_recorded_command_repeats_the_run():
    options = {"datasets": ["mpg", "cpu"], "models": None, "splits": 2, "quick": True}
    expected = 'make reproduce ARGS="table1 --datasets mpg --datasets cpu --splits 2 --quick"'
    assert pages.command_line("table1", options) == expected
    assert pages.command_line("depth", {"quick": False}) == 'make reproduce ARGS="depth"'


def test_tables():
    assert pages.markdown(("", "a b"), [("x", "1"), ("long", "22")]) == (
        "|      | a b |\n| ---- | --: |\n| x    |   1 |\n| long |  22 |\n"
    )
    assert pages.comma_separated(("a", "b"), [("x,y", 1), (None, 0.5)]) == ('a,b\n"x,y",1\n,0.5\n')


def test_a_figure_on_simulated_data_is_drawn(command, folder):
    run = command("figure4", "--output", "here")
    assert run.out == "Figure 4 of the paper, on simulated data, is in here/figure4.png.\n"
    assert (folder / "here" / "figure4.png").read_bytes().startswith(b"\x89PNG")


def test_pages_are_written_in_a_checkout_only(command, folder):
    assert command("pages") == (
        2,
        "",
        (
            "error: results/table1/splits.jsonl does not exist: run this in a checkout of the "
            "repository.\n"
        ),
    )
