"""The depth experiment: held-out images, resumed runs, and the files that are written."""

import csv
import io
import json
import os

import numpy as np
import pytest

import trueline as tl
from reproduce import ExperimentError
from reproduce.depth import (
    experiment as depth,
    moments as depth_moments,
    network as depth_network,
    pictures,
)
from reproduce.depth.data import DepthImages
from reproduce.depth.moments import MOMENTS
from reproduce.depth.network import FORECASTS, LONGEST, Size, held_out, training_seconds
from reproduce.depth.page import chance_table, csv_of, numbers_of, page_of, table
from reproduce.depth.pictures import Shown, draw_calibration, draw_images, typical
from reproduce.depth.results import VARIANTS, Results, Scores
from reproduce.depth.scores import LEVELS, judge
from reproduce.depth.work import Work
from reproduce.journal import Journal, _line
from trueline.clusters import Batch, fit_batches

pytest.importorskip("torch")

needs_data = pytest.mark.skipif(
    not os.environ.get("TRUELINE_DATA"), reason="TRUELINE_DATA is not set"
)
TINY = Size(every=1, epochs=2, samples=3, layers=(1, 1), growth_rate=2, first_channels=2)
FILES = ["calibration.png", "depth.csv", "depth.md", "images.png"]
NETWORKS = ["network-0.safetensors", "network-1.safetensors"]


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
    monkeypatch.setattr(depth, "SEEDS", 2)
    monkeypatch.setattr(depth_moments, "_CHUNK", 16)


def run(target, *, progress=lambda done, share: None, **given):
    options = {"quick": False, "fresh": False, "epochs": None, "seeds": None, "jobs": 1}
    return depth.run(**(options | given), output=target, progress=progress)


def lines(target):
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
    assert "existed already" not in text
    there = sorted(path.name for path in tmp_path.iterdir())
    assert there == sorted([*FILES, *NETWORKS, MOMENTS, "runs.jsonl"])
    before = {name: (tmp_path / name).read_bytes() for name in (*FILES, *NETWORKS, "runs.jsonl")}
    assert "320 of 320 forecasts existed already; --fresh starts again." in run(tmp_path)
    for name, content in before.items():
        assert (tmp_path / name).read_bytes() == content, name


def test_a_stopped_run_continues(small, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run(whole)

    def stop(done, share):
        if len(list((stopped / MOMENTS).glob("seed0/*.npy"))) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(stopped, progress=stop)
    assert not (stopped / "depth.md").exists()
    shares = []
    # There are 16 images in a file.
    text = run(stopped, progress=lambda done, share: shares.append(share))
    assert "48 of 320 forecasts existed already" in text
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert untimed(stopped) == untimed(whole)
    assert (stopped / "images.png").read_bytes() == (whole / "images.png").read_bytes()


def untimed(target):
    """The numbers but for the times."""
    rows = csv.DictReader((target / "depth.csv").read_text().splitlines())
    return [{k: v for k, v in row.items() if not k.endswith("_seconds")} for row in rows]


def test_stopped_training_continues_and_its_times_add_up(small, tmp_path):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run(whole)

    def stop(done, share):
        if done == 2 * 72:  # one epoch of each network
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(stopped, progress=stop)
    epochs = [(r["seed"], r["epoch"]) for r in lines(stopped) if r.get("kind") == "epoch"]
    assert epochs == [(0, 1), (1, 1)]
    run(stopped)
    for seed in (0, 1):
        file = f"{MOMENTS}/seed{seed}/test-0000.npy"
        assert (stopped / file).read_bytes() == (whole / file).read_bytes()
    records = [r for r in lines(stopped) if r.get("kind") == "epoch"]
    assert [(r["seed"], r["epoch"]) for r in records] == [*epochs, (0, 2), (1, 2)]
    rows = list(csv.DictReader((stopped / "depth.csv").read_text().splitlines()))
    for row in rows:
        if row["network"] != "mean":
            expected = sum(r["cpu_seconds"] for r in records if r["seed"] == int(row["network"]))
            assert float(row["training_seconds"]) == pytest.approx(expected)


def test_a_repeated_epoch_counts_once(tmp_path):
    journal = Journal(tmp_path / "runs.jsonl", {})
    for seed, epoch, seconds in ((0, 1, 5.0), (1, 1, 100.0), (0, 2, 3.0), (0, 2, 4.0)):
        record = {"kind": "epoch", "seed": seed, "epoch": epoch, "cpu_seconds": seconds}
        journal.append(record)
    assert training_seconds(journal, 0) == 9.0


def test_two_processes_make_what_one_makes(small, tmp_path, monkeypatch):
    one, two = tmp_path / "one", tmp_path / "two"
    # Other processes do not see the size of the fixture.
    monkeypatch.setattr(depth_moments, "_CHUNK", 32)
    run(one)
    run(two, jobs=2)
    assert untimed(one) == untimed(two)
    for name in ("images.png", "calibration.png", f"{MOMENTS}/seed1/test-0001.npy"):
        assert (one / name).read_bytes() == (two / name).read_bytes(), name


def test_a_run_with_fewer_networks_keeps_the_others(small, tmp_path):
    run(tmp_path, seeds=1)
    assert "--seeds 1" in (tmp_path / "depth.md").read_text()
    run(tmp_path)
    numbers = untimed(tmp_path)
    assert [row["network"] for row in numbers[:3]] == ["mean", "0", "1"]
    run(tmp_path, seeds=1)
    assert untimed(tmp_path) == numbers
    with pytest.raises(ExperimentError, match="--seeds is 0; expected 1 or more"):
        run(tmp_path, seeds=0)


def test_a_damaged_file_of_forecasts_is_made_again(small, tmp_path):
    run(tmp_path)
    file = tmp_path / MOMENTS / "seed1" / "test-0002.npy"
    content, numbers = file.read_bytes(), untimed(tmp_path)
    file.write_bytes(content[:-40])
    assert "304 of 320 forecasts" in run(tmp_path)
    assert file.read_bytes() == content
    assert untimed(tmp_path) == numbers


def test_forecasts_of_another_network_are_made_again(small, tmp_path):
    run(tmp_path)
    found = lines(tmp_path)
    for line in found:
        line.pop("checksum")
        if line.get("kind") == "moments" and line["seed"] == 1:
            line["weights"] = "0" * 64
    (tmp_path / "runs.jsonl").write_text("".join(map(_line, found)))
    assert "160 of 320 forecasts existed already" in run(tmp_path)


def test_fresh_starts_again(small, tmp_path):
    run(tmp_path)
    (tmp_path / MOMENTS / "mine.npy").write_bytes(b"not ours")
    (tmp_path / "network-1.safetensors").write_bytes(b"damaged")
    with pytest.raises(ExperimentError, match=r"not a checkpoint.*Or start again with --fresh"):
        run(tmp_path)
    assert "existed already" not in run(tmp_path, fresh=True)
    assert (tmp_path / MOMENTS / "mine.npy").exists()


def test_other_settings_are_not_mixed_in(small, tmp_path):
    run(tmp_path)
    with pytest.raises(ExperimentError, match=r"n_epochs=2.*rather than.*n_epochs=3"):
        run(tmp_path, epochs=3)
    with pytest.raises(ExperimentError, match="--epochs is 0; expected 1 or more"):
        run(tmp_path, epochs=0)


def test_progress_leaves_out_earlier_work():
    reports = []
    work = Work(lambda done, share: reports.append((done, share)), 100.0)
    work.skip(40.0)
    work.did(5, 20.0)
    work.skip(10.0)
    work.did(10, 30.0)
    assert reports == [(5, pytest.approx(20 / 60)), (15, 1.0)]


# ---- results ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    """Results of three networks whose forecasts are too sure, each by another factor."""

    def batch(n, seed, spread, std):
        rng = np.random.default_rng(seed)
        mean = rng.uniform(2.0, 5.0, (n, 6, 8))
        off = 0.4 * rng.normal(size=(n, 1, 1)) + 0.3 * rng.normal(size=mean.shape)
        return Batch(mean + spread * off, mean, np.full(mean.shape, std))

    kinds = {"training": (60, 0, 0.8), "held": (40, 1, 1.0), "test": (50, 2, 1.0)}

    def scores(std):
        sets = {name: batch(*kind, std) for name, kind in kinds.items()}
        maps = {"before": None} | {n: fit_batches([sets[n]]) for n in ("training", "held")}
        fitted = {n: judge([sets[n]], {n: maps[n]})[n] for n in ("training", "held")}
        return Scores(judge([sets["test"]], maps), fitted)

    runs = {name: np.arange(n) // 2 for name, (n, _, _) in kinds.items()}
    return Results([scores(std) for std in (0.1, 0.125, 0.15)], runs)


def both(found):
    """The same results for both forecasts."""
    return dict.fromkeys(FORECASTS, found)


def csv_rows(found):
    times = [(60.0, 6.0), (120.0, 12.0), (180.0, 18.0)]
    return list(csv.DictReader(io.StringIO(csv_of(both(found), times))))


def test_numbers_are_means_over_the_networks(found):
    for variant, (mean, networks) in found.numbers.items():
        assert len(networks) == 3
        for name in ("rmse", "calibration_error", "calibration_floor", "coverage", "width"):
            values = [one[name] for one in networks]
            np.testing.assert_allclose(mean[name], np.mean(values), rtol=1e-12)
        errors = [judged.calibration_error for judged in found.test(variant)]
        assert found.numbers[variant].range("calibration_error") == (min(errors), max(errors))
        curves = [judged.curve for judged in found.test(variant)]
        np.testing.assert_allclose(found.curve(variant), np.mean(curves, axis=0))


def test_intervals_contain_the_chance_of_the_training(found):
    """The networks differ before recalibration, so the interval is longer than those of images."""
    mean, networks = found.numbers["before"]
    own = [one["coverage_high"] - one["coverage_low"] for one in networks]
    assert mean["coverage_high"] - mean["coverage_low"] > 1.2 * max(own)
    assert mean["coverage_low"] < mean["coverage"] < mean["coverage_high"]


def test_tables_have_one_line_per_forecast_and_variant(found):
    numbers = both(found.numbers)
    assert len(chance_table(numbers).splitlines()) == 8
    rows = table(numbers).splitlines()
    assert [row.split("|")[1].strip() for row in rows[2:]] == [
        f"{forecast}, {variant}"
        for forecast in ("dropout and noise", "dropout alone")
        for variant in ("before", "training images", "held-out images")
    ]
    n = found.numbers["held"].mean
    assert f"{n['calibration_error']:.3e}" in rows[4]
    assert f"{n['calibration_error'] / n['calibration_floor']:.2f}" in rows[4]


def test_the_csv_has_every_number(found):
    rows = csv_rows(found)
    assert [row["forecast"] for row in rows] == ["dropout and noise"] * 12 + ["dropout alone"] * 12
    for row, other in zip(rows[:12], rows[12:], strict=True):
        assert list(row.values())[1:] == list(other.values())[1:]
    assert [row["network"] for row in rows[:12]] == ["mean", "0", "1", "2"] * 3
    for i, variant in enumerate(VARIANTS):
        mean, *networks = rows[4 * i : 4 * i + 4]
        assert mean["variant"] == VARIANTS[variant]
        assert mean["fit_images"] == {"before": "", "training": "60", "held": "40"}[variant]
        assert float(mean["training_seconds"]) == 120.0
        assert [float(mean[f"below_{p:g}"]) for p in LEVELS] == found.curve(variant).tolist()
        for row, judged in zip(networks, found.test(variant), strict=True):
            assert float(row["rmse"]) == judged.rmse
            assert float(row["coverage"]) == judged.mean("inside")
            assert [float(row[f"below_{p:g}"]) for p in LEVELS] == judged.curve.tolist()


def test_the_page_is_written_from_the_csv(found):
    numbers = numbers_of(csv_rows(found))
    assert table(numbers) == table(both(found.numbers))
    assert chance_table(numbers) == chance_table(both(found.numbers))
    text = page_of(numbers, "depth", "Made.")
    assert "means over 3 networks" in text
    assert "a network took 2 minutes to train and\n0 to forecast" in text
    assert "{{" not in text


def test_floors_count_the_images_of_the_map(found):
    pairs = []
    networks = found.numbers["held"].networks
    for n, test, fitted in zip(networks, found.test("held"), found.fitted("held"), strict=True):
        assert n["calibration_floor"] == test.floor() + fitted.floor()
        pairs.append(test.floor(np.arange(50) // 2) + fitted.floor(np.arange(40) // 2))
        assert n["floor_by_runs"] == pairs[-1]
    np.testing.assert_allclose(found.numbers["held"].mean["floor_by_runs"], np.mean(pairs))
    before = found.numbers["before"].networks[0]
    assert before["calibration_floor"] == found.test("before")[0].floor()


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
    judged = found.test("before")[0]
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
    assert "244 of 244 forecasts existed already" in again.out
    assert (folder / "here" / "depth.md").read_text() == page_
