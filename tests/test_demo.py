"""The demo runs without a warning and shows the effect of recalibration."""

import re

import pytest

from trueline import demo


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_recalibration_fixes_the_coverage(capsys, monkeypatch):
    monkeypatch.setattr(demo, "SPLITS", 20)
    demo.main()
    printed = capsys.readouterr().out

    before, after = (float(x) for x in re.findall(r"intervals hold ([\d.]+)% of the time", printed))
    assert before < 40
    # 20 splits of 147 calibration and 148 test rows each: twice the standard error is 1.5
    assert abs(after - 90) < 2


def test_the_table_is_aligned(capsys, monkeypatch):
    monkeypatch.setattr(demo, "SPLITS", 2)
    demo.main()
    lines = capsys.readouterr().out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.endswith("wanted"))
    table = lines[start : start + 1 + len(demo.TABLE)]
    for line in table[1:]:
        assert line[:24].strip()
        assert re.fullmatch(r" +\S+ +\S+", line[24:44])
        assert re.match(r"   \S", line[44:])


def test_recalibration_leaves_the_score_better():
    before, after = demo.compare(seed=0)
    assert after["crps"] < before["crps"]
    assert after["log_score"] < before["log_score"]


def test_a_page_is_written_and_its_path_printed(capsys, monkeypatch, folder):
    monkeypatch.setattr(demo, "SPLITS", 3)
    demo.main("page.html")
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.endswith(str(folder / "page.html"))
    page = (folder / "page.html").read_text("utf-8")
    assert "disease progression" in page
    assert "50 and older" in page


def test_the_most_typical_split_is_that_nearest_to_the_means():
    pairs = [({"coverage": b}, {"coverage": a}) for b, a in [(0.1, 0.9), (0.3, 0.9), (0.31, 0.9)]]
    assert demo.most_typical(pairs) == 1
