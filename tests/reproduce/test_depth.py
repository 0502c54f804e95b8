"""The depth experiment: held-out images, resumed runs, and the files that are written."""

import csv
import io
import json
import os

import numpy as np
import pytest

import trueline as tl
from reproduce import ExperimentError
from reproduce.depth import experiment as depth, network as depth_network, pictures
from reproduce.depth.data import DepthImages
from reproduce.depth.network import (
    FORECASTS,
    LONGEST,
    MOMENTS,
    Epochs,
    Size,
    Work,
    held_out,
)
from reproduce.depth.page import chance_table, csv_of, table
from reproduce.depth.pictures import Shown, draw_calibration, draw_images, typical
from reproduce.depth.results import Results
from reproduce.depth.scores import LEVELS, judge
from reproduce.journal import _line
from trueline.clusters import Batch, fit_batches

pytest.importorskip("torch")

needs_data = pytest.mark.skipif(
    not os.environ.get("TRUELINE_DATA"), reason="TRUELINE_DATA is not set"
)
TINY = Size(every=1, epochs=2, samples=3, layers=(1, 1), growth_rate=2, first_channels=2)
FILES = ["calibration.png", "depth.csv", "depth.md", "images.png", "network.safetensors"]


def made_up():
    """Rooms of 4 images, in turn to train and to test; the brighter the further."""
    rng = np.random.default_rng(0)
    n = 160
    rooms = np.arange(n) // 4
    images = rng.integers(256, size=(n, 8, 12, 3), dtype=np.uint8)
    depth = (1.0 + images[..., 0] / 100.0 + rng.normal(size=(n, 1, 1)) ** 2).astype(np.float32)
    mask = rng.uniform(size=depth.shape) < 0.95
    depth[~mask] = np.nan
    split = np.where(rooms % 2 == 0, "train", "test")
    order = np.argsort(split != "train", kind="stable")
    return DepthImages(
        "made up", images[order], depth[order], mask[order], np.arange(n)[order], split[order]
    )


@pytest.fixture
def small(monkeypatch):
    """Images of our own, and hardly a network."""
    monkeypatch.setattr(depth_network, "load_depth", made_up)
    monkeypatch.setattr(depth, "FULL", TINY)
    monkeypatch.setattr(depth_network, "_CHUNK", 16)


def run(target, *, progress=lambda done, share: None, **given):
    options = {"quick": False, "fresh": False, "epochs": None}
    return depth.run(**(options | given), output=target, progress=progress)


def journal(target):
    return [json.loads(line) for line in (target / "runs.jsonl").read_text().splitlines()]


def test_held_out_images_are_of_rooms_that_the_network_does_not_see(small):
    found = depth_network.parts(1)
    assert {name: len(part) for name, part in found.items()} == {
        "train": 72,
        "held": 8,
        "test": 80,
    }
    rooms = {name: set(part.data.index // 4) for name, part in found.items()}
    assert not rooms["train"] & rooms["held"]
    assert {len(part.data.index) / len(np.unique(part.runs)) for part in found.values()} == {4.0}
    again = depth_network.parts(1)["held"]
    np.testing.assert_array_equal(again.data.index, found["held"].data.index)
    assert len(depth_network.parts(3)["test"]) == 27


@needs_data
def test_held_out_images_of_the_data():
    found = depth_network.parts(1)
    assert {name: len(part) for name, part in found.items()}["test"] == 654
    assert len(found["train"]) + len(found["held"]) == 795
    assert 80 <= len(found["held"]) < 80 + LONGEST
    neighbours = np.concatenate([found["held"].data.index + step for step in (-1, 1)])
    assert not np.isin(neighbours, found["train"].data.index).any()


def test_a_tenth_of_the_images_is_held_out_by_whole_runs():
    runs = np.repeat(np.arange(40), np.random.default_rng(1).integers(1, 12, size=40))
    held = held_out(runs)
    assert held.mean() >= 0.1
    sizes = np.bincount(runs)[np.unique(runs[held])]
    assert sizes.max() <= LONGEST
    assert (held.sum() - sizes.max()) / held.size < 0.1
    for run_ in np.unique(runs):
        assert len(np.unique(held[runs == run_])) == 1


def test_a_run_and_the_same_again(small, tmp_path):
    text = run(tmp_path)
    assert "were forecast already" not in text
    there = sorted(path.name for path in tmp_path.iterdir())
    assert there == sorted([*FILES, MOMENTS, "runs.jsonl"])
    before = {name: (tmp_path / name).read_bytes() for name in (*FILES, "runs.jsonl")}
    assert "160 of 160 images were forecast already; --fresh starts again." in run(tmp_path)
    for name, content in before.items():
        assert (tmp_path / name).read_bytes() == content, name


def test_a_stopped_run_continues(small, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run(whole)

    def stop(done, share):
        if len(list((stopped / MOMENTS).glob("*.npy"))) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(stopped, progress=stop)
    assert not (stopped / "depth.md").exists()
    shares = []
    # 16 images a file: two files and 8 images of the images to train, 8 held out.
    text = run(stopped, progress=lambda done, share: shares.append(share))
    assert "48 of 160 images were forecast already" in text
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert (stopped / "depth.csv").read_bytes() == (whole / "depth.csv").read_bytes()
    assert (stopped / "images.png").read_bytes() == (whole / "images.png").read_bytes()


def test_a_damaged_file_of_forecasts_is_made_again(small, tmp_path):
    run(tmp_path)
    file = tmp_path / MOMENTS / "test-0002.npy"
    content, numbers = file.read_bytes(), (tmp_path / "depth.csv").read_bytes()
    file.write_bytes(content[:-40])
    assert "144 of 160 images" in run(tmp_path)
    assert file.read_bytes() == content
    assert (tmp_path / "depth.csv").read_bytes() == numbers


def test_forecasts_of_another_network_are_made_again(small, tmp_path):
    run(tmp_path)
    head, *records = journal(tmp_path)
    lines = [head, *({**record, "weights": "0" * 64} for record in records)]
    for line in lines:
        line.pop("checksum")
    (tmp_path / "runs.jsonl").write_text("".join(map(_line, lines)))
    assert "were forecast already" not in run(tmp_path)


def test_fresh_starts_again(small, tmp_path):
    run(tmp_path)
    (tmp_path / MOMENTS / "mine.npy").write_bytes(b"not ours")
    (tmp_path / "network.safetensors").write_bytes(b"damaged")
    with pytest.raises(ExperimentError, match=r"not a checkpoint.*Or start again with --fresh"):
        run(tmp_path)
    assert "were forecast already" not in run(tmp_path, fresh=True)
    assert (tmp_path / MOMENTS / "mine.npy").exists()


def test_other_settings_are_not_mixed_in(small, tmp_path):
    run(tmp_path)
    with pytest.raises(ExperimentError, match=r"n_epochs=2.*rather than.*n_epochs=3"):
        run(tmp_path, epochs=3)
    with pytest.raises(ExperimentError, match="--epochs is 0; expected 1 or more"):
        run(tmp_path, epochs=0)


def test_progress_leaves_out_earlier_work(monkeypatch):
    monkeypatch.setattr(depth_network, "_TRAINING", 4.0)
    reports = []
    work = Work(lambda done, share: reports.append((done, share)), 100.0)
    epoch = Epochs(work, 5, begun=True)
    epoch(2, 4, 0)  # where it goes on from
    assert not reports
    epoch(3, 4, 0)
    epoch.finish(4)
    epoch.finish(4)
    assert reports == [(5, pytest.approx(20 / 60)), (10, pytest.approx(40 / 60))]
    work.skip(10.0)
    work.did(10, 10.0)
    assert reports[-1] == (20, 1.0)


def test_new_training_reports_its_first_epoch(monkeypatch):
    monkeypatch.setattr(depth_network, "_TRAINING", 4.0)
    reports = []
    work = Work(lambda done, share: reports.append((done, share)), 80.0)
    Epochs(work, 5, begun=False)(1, 4, 0)
    assert reports == [(5, 0.25)]


# ---- results ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    """Results of forecasts that are four times too sure."""

    def batch(n, seed, spread):
        rng = np.random.default_rng(seed)
        mean = rng.uniform(2.0, 5.0, (n, 6, 8))
        off = 0.4 * rng.normal(size=(n, 1, 1)) + 0.3 * rng.normal(size=mean.shape)
        return Batch(mean + spread * off, mean, np.full(mean.shape, 0.125))

    sets = {"training": batch(60, 0, 0.8), "held": batch(40, 1, 1.0), "test": batch(50, 2, 1.0)}
    maps = {"before": None} | {n: fit_batches([sets[n]]) for n in ("training", "held")}
    return Results(
        judge([sets["test"]], maps),
        {name: judge([sets[name]], {name: maps[name]})[name] for name in ("training", "held")},
        {name: np.arange(len(part.y)) // 2 for name, part in sets.items()},
    )


def both(found):
    """The same results for both forecasts."""
    return dict.fromkeys(FORECASTS, found)


def test_tables_have_one_line_per_forecast_and_variant(found):
    assert len(chance_table(both(found.numbers)).splitlines()) == 8
    lines = table(both(found.numbers)).splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        f"{forecast}, {variant}"
        for forecast in ("dropout and noise", "dropout alone")
        for variant in ("before", "training images", "held-out images")
    ]
    n = found.numbers["held"]
    assert f"{n['calibration_error']:.3e}" in lines[4]
    assert f"{n['calibration_error'] / n['calibration_floor']:.2f}" in lines[4]


def test_the_csv_has_every_number(found):
    rows = list(csv.DictReader(io.StringIO(csv_of(both(found)))))
    names = ["dropout and noise"] * 3 + ["dropout alone"] * 3
    assert [row["forecast"] for row in rows] == names
    assert [list(row.values())[1:] for row in rows[:3]] == [
        list(row.values())[1:] for row in rows[3:]
    ]
    rows = rows[:3]
    assert [row["variant"] for row in rows] == ["before", "training images", "held-out images"]
    assert [row["fit_images"] for row in rows] == ["", "60", "40"]
    for row, (name, judged) in zip(rows, found.test.items(), strict=True):
        assert float(row["rmse"]) == judged.rmse
        assert float(row["coverage"]) == judged.mean("inside")
        assert [float(row[f"below_{p:g}"]) for p in LEVELS] == judged.curve.tolist()
        assert float(row["calibration_floor"]) == found.numbers[name]["calibration_floor"]


def test_floors_count_the_images_of_the_map(found):
    test, fitted = found.test["held"], found.fitted["held"]
    n = found.numbers["held"]
    assert n["calibration_floor"] == test.floor() + fitted.floor()
    pairs = test.floor(np.arange(50) // 2) + fitted.floor(np.arange(40) // 2)
    assert n["floor_by_runs"] == pairs
    assert found.numbers["before"]["calibration_floor"] == found.test["before"].floor()


def test_pictures(found, tmp_path):
    draw_calibration(tmp_path / "a.png", both(found))
    draw_calibration(tmp_path / "b.png", both(found))
    content = (tmp_path / "a.png").read_bytes()
    assert content == (tmp_path / "b.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    shown = Shown.of(
        np.array([[1.0, 2.0, 3.0], [2.0, 2.0, np.nan]]),
        np.array([[True, True, True], [True, True, False]]),
        np.full((2, 3), 2.0),
        tl.Normal(np.full(6, 2.0), 0.1),
        tl.Normal(np.full(6, 2.0), 10.0),
    )
    np.testing.assert_array_equal(shown.misses[0], [[-1, 0, 1], [0, 0, np.nan]])
    assert shown.held == (0.6, 1.0)
    assert (shown.widths[1] > 50 * shown.widths[0]).all()
    draw_images(tmp_path / "images.png", [shown] * 4)
    assert (tmp_path / "images.png").read_bytes().startswith(b"\x89PNG")


def test_images_are_chosen_by_the_order_of_their_errors(found):
    judged = found.test["before"]
    places = typical(judged)
    rmse = np.sqrt(judged.sums["squared_error"] / judged.n)
    ranks = [int((rmse < rmse[place]).sum()) for place in places]
    assert ranks == [round(q * 49) for q in pictures._SHOWN]


@needs_data
def test_a_quick_run(command, folder):
    run_ = command("depth", "--quick", "--output", "here")
    assert run_.code == 0
    page_ = (folder / "here" / "depth.md").read_text()
    assert '`make reproduce ARGS="depth --quick"`' in page_
    again = command("depth", "--quick", "--output", "here")
    assert "122 of 122 images were forecast already" in again.out
    assert (folder / "here" / "depth.md").read_text() == page_
