"""Each mistake has its own message, and none leaves a file behind."""

import errno
import os

import numpy as np
import pytest

import trueline as tl

Y = np.zeros(5)
F = tl.Normal(np.zeros(5), 1.0)

MISTAKES = {
    "y with a NaN": (
        ([0, 1, np.nan, 2, 3], F),
        {},
        ValueError,
        r"y\[2\] is nan; expected finite numbers",
    ),
    "y too short": (
        ([0.0, 1.0], {"before": F, "after": F}),
        {},
        ValueError,
        "y has 2 rows but the forecast 'before' has 5",
    ),
    "one forecast too short": (
        (Y, {"before": F, "after": F[:3]}),
        {},
        ValueError,
        "y has 5 rows but the forecast 'after' has 3",
    ),
    "y and forecast swapped": ((F, Y), {}, TypeError, None),
    "no forecasts": (
        (Y, {}),
        {},
        ValueError,
        r'^forecasts holds no forecast; expected 1 to 12 by name: {"before": F, "after": G}\.$',
    ),
    "thirteen forecasts": (
        (Y, {str(i): F for i in range(13)}),
        {},
        ValueError,
        (
            r"^forecasts holds 13 forecasts; expected at most 12, so that their curves can be told "
            r"apart and the page stays below a megabyte\. Leave some out: trueline\.crps\(y, F\) "
            r"tells which are the best\.$"
        ),
    ),
    "the columns of one forecast": (
        (Y, {"mean": Y, "std": Y + 1}),
        {},
        TypeError,
        (
            r"^forecasts has the keys 'mean', 'std', which are columns of one forecast; expected "
            r"forecasts by name\. Name it: {\"model\": {'mean': \.\.\.}}\.$"
        ),
    ),
    "quantiles of one forecast": (
        (Y, {"levels": [0.1, 0.9], "values": np.tile([0.0, 1.0], (5, 1))}),
        {},
        TypeError,
        "forecasts has the keys 'levels', 'values', which are columns of one forecast",
    ),
    "a triple for a forecast": (
        (Y, {"before": F, "after": (Y, Y, Y)}),
        {},
        TypeError,
        r"forecasts\['after'\] is of type tuple, which trueline\.as_distribution\(obj\) cannot",
    ),
    "a list of forecasts": (
        (Y, [F, F]),
        {},
        TypeError,
        r'^forecasts is a list of forecasts; expected them by name: {"ridge": F, "forest": G}\.$',
    ),
    "a number for a name": (
        (Y, {1: F}),
        {},
        TypeError,
        "forecasts has the name 1; expected a text",
    ),
    "an empty name": ((Y, {" ": F}), {}, TypeError, "expected a text that is not empty"),
    "names that read the same": (
        (Y, {"a": F, " a ": F}),
        {},
        ValueError,
        "forecasts has the same name twice",
    ),
    "groups too short": (
        (Y, F),
        {"groups": ["a", "b"]},
        ValueError,
        r"groups has shape \(2,\) but y has 5 rows; expected one name per row, \(5,\)",
    ),
    "groups with two columns": (
        (Y, F),
        {"groups": np.zeros((5, 2))},
        ValueError,
        r"groups has shape \(5, 2\) but y has 5 rows",
    ),
    "ragged groups": ((Y, F), {"groups": [[1], [1, 2], 3, 4, 5]}, ValueError, "groups is ragged"),
    "x too short": ((Y, F), {"x": [1.0]}, ValueError, "x has a column 'x' of shape"),
    "weights too short": (
        (Y, F),
        {"sample_weight": [1.0]},
        ValueError,
        "sample_weight has 1 rows but y has 5",
    ),
    "weights all zero": ((Y, F), {"sample_weight": Y}, ValueError, "zero in every row"),
    "coverage in percent": ((Y, F), {"coverage": 90}, ValueError, "Write 90% as 0.9"),
    "no rows to fit on": ((Y, F), {"n_fit": 0}, ValueError, "n_fit is 0; expected a number of"),
    "a seed that is text": ((Y, F), {"random_state": "x"}, TypeError, "random_state is 'x'"),
}


@pytest.mark.parametrize("arguments, options, error, message", MISTAKES.values(), ids=MISTAKES)
def test_mistakes(tmp_path, arguments, options, error, message):
    with pytest.raises(error, match=message):
        tl.report(*arguments, tmp_path / "report.html", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("named", [False, True])
def test_forecasts_of_other_kinds_are_converted_by_their_argument(tmp_path, monkeypatch, named):
    """The messages of `check_forecast` are tested with it; here only what it is asked for."""
    asked = []

    def check(dist, name):
        asked.append((dist, name))
        return F

    monkeypatch.setattr("trueline._report._inputs.check_forecast", check)
    pair = (Y, 1.0)
    tl.report(Y, {"a": pair} if named else pair, tmp_path / "report.html")
    assert asked == [(pair, "forecasts['a']" if named else "forecasts")]


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"is a folder; expected the name of a file"):
        tl.report(Y, F, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_told_before_the_work(tmp_path, monkeypatch):
    monkeypatch.setattr("trueline._report._write.line_up", None)  # never reached
    with pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"):
        tl.report(Y, F, tmp_path / "nowhere" / "report.html")


def test_a_path_must_be_one():
    with pytest.raises(TypeError, match="path is of type int; expected the name of the file"):
        tl.report(Y, F, 3)


def test_a_folder_that_may_not_be_written_to(tmp_path, monkeypatch):
    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError, match=r"cannot write .*report\.html: Permission denied"):
        tl.report(Y, F, tmp_path / "report.html")


@pytest.mark.parametrize("step", ["fsync", "write"])
def test_a_full_disk_leaves_the_old_report_and_nothing_else(tmp_path, monkeypatch, step):
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    if step == "fsync":
        monkeypatch.setattr(os, "fsync", full)
    else:
        opened = os.fdopen

        monkeypatch.setattr(os, "fdopen", lambda *a, **k: _Full(opened(*a, **k)))
    with pytest.raises(OSError, match=r"cannot write .*report\.html: No space left") as caught:
        tl.report(Y, F, path)
    assert caught.value.errno == errno.ENOSPC
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "old"


class _Full:
    """A file on a disk without room."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.file.close()

    def write(self, text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
