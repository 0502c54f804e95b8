"""What is shown of long work: lines in a pipe, a bar on a terminal, nothing by default."""

import io
import pickle
import sys

import pytest

from trueline import _progress
from trueline._progress import QUIET, display, progress, show_steps


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until the test sets it."""

    class Clock:
        now = 0.0

    monkeypatch.setattr(_progress.time, "monotonic", lambda: Clock.now)
    return Clock


def test_lines_of_counted_work(clock, capsys):
    with progress("table1", "fits") as report:
        for clock.now, done, share in [
            (4.0, 1, 0.01),  # too soon for a line
            (10.0, 2_000, 0.2),
            (310.0, 3_000, 0.25),
            (1300.0, 4_000, 1.0),
        ]:
            report(done, share)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == (
        "table1: 20%, 2,000 fits, 40 s left\n"
        "table1: 25%, 3,000 fits, 15 min left\n"
        "table1: 100%, 4,000 fits\n"
    )


def test_short_work_has_no_lines(capsys):
    with progress("fitting on past.csv") as report:
        report(65_536, 0.5)
    assert capsys.readouterr().err == ""


def run_steps(clock, verbose):
    """Two fits of 10 s for the rows of one, a step of 5 s that was announced as 4, and the last."""
    with show_steps("Model", verbose) as steps:
        steps.expect(fits=1.5, seconds={"learning the width": 4.0, "fitting the map": 0.1})
        with steps.step("fitting on all rows", fits=1.0):
            clock.now += 10.0
        with steps.step("fitting fold 1 of 1", fits=0.5):
            clock.now += 2.5
            steps.within(0.5, "epoch 2 of 4")  # the last line is less than five seconds old
            clock.now += 2.5
            steps.within(0.9, "epoch 4 of 4")
        with steps.step("learning the width"):
            clock.now += 5.0
        steps.detail("the width is learned")
        with steps.step("fitting the map"):
            pass


LINES = [
    "Model: 0%, fitting on all rows",
    "Model: fitting on all rows took 10.0 s",
    "Model: 52%, fitting fold 1 of 1, 9 s left",
    "Model: 76%, fitting fold 1 of 1, epoch 4 of 4, 5 s left",
    "Model: fitting fold 1 of 1 took 5.0 s",
    "Model: 79%, learning the width, 4 s left",
    "Model: learning the width took 5.0 s",
    "Model: the width is learned",
    "Model: 99%, fitting the map",
    "Model: fitting the map took 0.0 s",
    "Model: done in 20.0 s",
]


@pytest.mark.parametrize("verbose", [0, 1, 2])
def test_steps_say_what_is_done_how_far_and_how_long_the_rest_takes(clock, capsys, verbose):
    run_steps(clock, verbose)
    brief = [line for line in LINES if "%" in line or "done" in line]
    expected = {0: [], 1: brief, 2: LINES}[verbose]
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == expected


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.usefixtures("clock")
def test_one_bar_is_on_the_screen_at_a_time(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    with (
        show_steps("Outer", 1) as steps,
        steps.step("fitting [red] fold"),
        display("Inner") as show,
    ):
        show(0.5, "epoch 3", at_once=True)
    text = shown.getvalue()
    assert "━" in text
    assert "fitting [red] fold" in text  # no markup of rich
    assert "Inner: 50%, epoch 3" in text
    assert text.endswith("Outer: done in 0.0 s\n")
    assert _progress.Display._with_bar is None


def test_an_error_removes_the_bar(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ZeroDivisionError), show_steps("Model", 1) as steps, steps.step("fit"):
        _ = 1 / 0
    assert _progress.Display._with_bar is None


@pytest.mark.usefixtures("clock")
def test_without_rich_a_terminal_shows_lines(monkeypatch):
    shown = Terminal()
    monkeypatch.setattr(sys, "stderr", shown)
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with show_steps("Model", 1) as steps, steps.step("fitting the map"):
        pass
    assert shown.getvalue() == "Model: 0%, fitting the map\nModel: done in 0.0 s\n"


def test_other_processes_show_nothing():
    with show_steps("Model", 1) as steps:
        assert pickle.loads(pickle.dumps(steps)) is QUIET
