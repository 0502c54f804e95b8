"""The command that lists and runs experiments."""

import sys
import types
from pathlib import Path

import pytest

from reproduce import command as command_line, pages
from reproduce.experiments import EXPERIMENTS, Experiment, ExperimentError, Option
from trueline.datasets import DatasetError

LISTING = "The experiments are:\n" + "".join(
    f"  {name:<12}{experiment.summary}\n" for name, experiment in EXPERIMENTS.items()
)
OPTIONS = (
    Option("datasets", list[str] | None, None, "Sets; all by default."),
    Option("splits", int, 5, "How many."),
    Option("dry_run", bool, False, "Only say what would be done."),
    Option("output", Path, Path("results/fake"), "Folder."),
)


@pytest.fixture
def fake(monkeypatch):
    """Add an experiment; return the options that it is run with."""
    seen = []
    module = types.ModuleType("fake_experiment")

    def run(*, progress, **options):
        progress(10, 0.5)
        seen.append(options)
        return "what to print"

    module.run = run
    monkeypatch.setitem(sys.modules, "fake_experiment", module)
    experiment = Experiment("a fake", "fake_experiment", OPTIONS)
    monkeypatch.setitem(EXPERIMENTS, "fake", experiment)
    commands = [*command_line.app.registered_commands]
    monkeypatch.setattr(command_line.app, "registered_commands", commands)
    command_line.add("fake", experiment)
    return module, seen


def test_without_a_name_the_experiments_are_listed(command):
    assert "figure2" in LISTING
    assert command() == (0, LISTING, "")


@pytest.mark.parametrize("name, hint", [("figur2", " Did you mean 'figure2'?"), ("zzz", "")])
def test_an_unknown_name_gets_the_list(command, name, hint):
    expected = f"error: {name!r} is not an experiment.{hint} {LISTING}"
    assert command(name) == (2, "", expected)


def test_every_experiment_has_a_function_and_help(command):
    for name, experiment in EXPERIMENTS.items():
        run = command(name, "--help")
        assert run.code == 0
        for option in experiment.options:
            assert "--" + option.name.replace("_", "-") in run.out


def test_an_experiment_is_run_with_its_own_options(command, fake):
    _, seen = fake
    assert command("fake") == (0, "what to print\n", "")
    arguments = ["--datasets", "mpg", "--datasets", "auto", "--splits", "2", "--dry-run"]
    assert command("fake", *arguments, "--output", "there").code == 0
    defaults = {"splits": 5, "dry_run": False, "output": Path("results/fake")}
    first, second = seen
    assert not first.pop("datasets")
    assert first == defaults
    assert second == {
        "datasets": ["mpg", "auto"],
        "splits": 2,
        "dry_run": True,
        "output": Path("there"),
    }


def test_an_unknown_option_is_refused(command, fake):
    run = command("fake", "--quikc")
    assert (run.code, run.out) == (2, "")
    assert "--quikc" in run.err
    assert not fake[1]


@pytest.mark.parametrize("kind", [DatasetError, ExperimentError])
def test_an_error_of_the_user_is_one_line(command, fake, kind):
    def run(**options):
        raise kind("no such data; do this.")

    fake[0].run = run
    assert command("fake") == (2, "", "error: no such data; do this.\n")


def test_a_folder_that_cannot_be_written_to_is_named_before_the_work(command, folder):
    (folder / "results").write_text("a file")
    run = command("figure2", "--quick", "--output", "results/figure2")
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith("error: cannot write to the folder results/figure2: ")
    assert run.err.endswith("Name another with --output.\n")


def test_figure2_runs(command, folder):
    run = command("figure2", "--quick", "--output", "here")
    assert run.code == 0
    assert run.out.endswith("The figure, the curves and this table are in here.\n")
    assert (folder / "here" / "figure2.png").is_file()


def test_the_recorded_command_repeats_the_run(fake):
    options = {"datasets": ["mpg", "my set"], "splits": 5, "dry_run": True, "output": Path("x")}
    expected = "make reproduce ARGS=\"fake --datasets mpg --datasets 'my set' --dry-run\""
    assert pages.command_line("fake", options) == expected


def test_tables():
    assert pages.markdown(("", "a b"), [("x", "1"), ("long", "22")]) == (
        "|      | a b |\n| ---- | --: |\n| x    |   1 |\n| long |  22 |\n"
    )
    assert pages.comma_separated(("a", "b"), [("x,y", 1)]) == 'a,b\n"x,y",1\n'
