"""The loaders of images with depth: NYU Depth v2, and Make3D from small files in its format."""

import builtins
import dataclasses
import hashlib
import io
import os
import re

import numpy as np
import pytest
from scipy.io import savemat

from reproduce.depth import data as depth_data
from trueline import datasets

DATA = os.environ.get("TRUELINE_DATA")
SHAPE = (3, 4)


# ---- NYU Depth v2 ----------------------------------------------------------------------


def packed(n, seed, **changes):
    """Bytes of a file of n images."""
    rng = np.random.default_rng(seed)
    arrays = {
        "image": rng.integers(256, size=(n, *SHAPE, 3), dtype=np.uint8),
        "depth_cm": rng.integers(73, 998, size=(n, *SHAPE), dtype=np.uint16),
        "index": np.arange(n, dtype=np.int32) * 2 + seed,
    }
    file = io.BytesIO()
    np.savez_compressed(file, **{**arrays, **changes})
    return file.getvalue(), arrays


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """Small files in place of the real ones; the function writes other bytes."""
    (tmp_path / "nyuv2").mkdir()
    monkeypatch.setenv("TRUELINE_DATA", str(tmp_path))

    def put(**contents):
        known = dict(depth_data._NYUV2)
        for split, content in contents.items():
            name = known[split][0]
            (tmp_path / name).write_bytes(content)
            known[split] = (name, hashlib.sha256(content).hexdigest())
        monkeypatch.setattr(depth_data, "_NYUV2", known)
        return tmp_path

    put(train=packed(3, 0)[0], test=packed(2, 1)[0])
    return put


@pytest.mark.skipif(not DATA, reason="TRUELINE_DATA is not set")
def test_the_files_of_the_experiment():
    data = depth_data.load_depth("nyuv2")
    assert repr(data) == (
        "DepthImages('nyuv2', 1449 images of 72 x 96: 795 train, 654 test; 100.0% of pixels valid)"
    )
    assert (data.images.dtype, data.depth.dtype) == (np.uint8, np.float32)
    np.testing.assert_allclose([data.depth.min(), data.depth.max()], [0.73, 9.98], rtol=1e-6)
    # The two parts are all of the labelled images, each once.
    np.testing.assert_array_equal(np.sort(data.index), np.arange(1449))


def test_files_are_read(folder):
    data = depth_data.load_depth()
    (_, train), (_, test) = packed(3, 0), packed(2, 1)
    np.testing.assert_array_equal(data.images, np.concatenate([train["image"], test["image"]]))
    centimetres = np.concatenate([train["depth_cm"], test["depth_cm"]])
    np.testing.assert_allclose(data.depth, centimetres / 100, rtol=1e-6)
    assert data.index.tolist() == [0, 2, 4, 1, 3]
    assert data.split.tolist() == ["train"] * 3 + ["test"] * 2
    assert data.mask.all()
    assert len(data) == 5
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "other"


def test_a_part_is_a_view(folder):
    data = depth_data.load_depth()
    test = data.part("test")
    assert test.index.tolist() == [1, 3]
    assert np.shares_memory(test.images, data.images)
    np.testing.assert_array_equal(test.depth, data.depth[3:])
    with pytest.raises(ValueError, match=r"'val'; expected one of \['test', 'train'\]"):
        data.part("val")


def test_a_part_whose_images_stand_apart(folder):
    data = depth_data.load_depth()
    mixed = dataclasses.replace(data, split=np.array(["a", "b", "a", "b", "a"]))
    assert mixed.part("b").index.tolist() == [2, 1]
    np.testing.assert_array_equal(mixed.part("a").images, data.images[::2])


def test_a_depth_of_0_is_not_valid(folder):
    depth = np.full((2, *SHAPE), 150, dtype=np.uint16)
    depth[1, 2, 3] = 0
    folder(test=packed(2, 1, depth_cm=depth)[0])
    mask = depth_data.load_depth().mask
    assert not mask[4, 2, 3]
    assert mask.sum() == mask.size - 1


def test_another_set_is_not_known():
    with pytest.raises(ValueError, match=r"'make3d' is not a set.* read_make3d"):
        depth_data.load_depth("make3d")


def test_a_truncated_file_is_refused(folder, tmp_path):
    file = tmp_path / "nyuv2" / "nyuv2_test_72x96.npz"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(datasets.DatasetError, match="expected another SHA-256") as caught:
        depth_data.load_depth()
    assert str(caught.value).startswith(f"{file} is not the expected file")
    assert "Copy the file again, byte for byte." in str(caught.value)


def test_absent_files_are_said_to_be_so(folder, tmp_path, monkeypatch):
    file = tmp_path / "nyuv2" / "nyuv2_train_72x96.npz"
    file.unlink()
    with pytest.raises(
        datasets.DatasetError, match=re.escape(f"there is no file {file}")
    ) as caught:
        depth_data.load_depth()
    assert "set TRUELINE_DATA to the folder that holds nyuv2/nyuv2_train" in str(caught.value)
    monkeypatch.delenv("TRUELINE_DATA")
    with pytest.raises(datasets.DatasetError, match="TRUELINE_DATA is not set"):
        depth_data.load_depth()


@pytest.mark.parametrize(
    "change, said",
    [
        ({"image": np.zeros((2, 3, 5, 3), np.uint8)}, r"images uint8 \(2, 3, 5, 3\), depths"),
        ({"image": np.zeros((2, 3, 4, 1), np.uint8)}, "images uint8"),
        ({"image": np.zeros((2, 3, 4, 3))}, "images float64"),
        ({"index": np.arange(3)}, r"index \(3,\)"),
        # What only a pickle can hold is not unpacked.
        ({"index": np.array([{}, {}], dtype=object)}, "cannot be read: .*allow_pickle=False"),
    ],
)
def test_arrays_that_do_not_match_are_refused(folder, change, said):
    folder(test=packed(2, 1, **change)[0])
    with pytest.raises(datasets.DatasetError, match=said):
        depth_data.load_depth()


def test_a_file_without_an_array_is_refused(folder):
    file = io.BytesIO()
    np.savez(file, image=np.zeros((2, *SHAPE, 3), np.uint8))
    folder(test=file.getvalue())
    with pytest.raises(datasets.DatasetError, match="Expected the arrays image, depth_cm, index"):
        depth_data.load_depth()
    folder(test=b"no archive")
    with pytest.raises(datasets.DatasetError, match="cannot be read"):
        depth_data.load_depth()


# ---- Make3D ----------------------------------------------------------------------------

GRID = (5, 7)
COLOURS = {"a-1": (200, 30, 90), "b-2": (10, 220, 40), "c-3": (60, 70, 240)}


def depth_of(key):
    """Depths of a file: some far, one missing."""
    depth = np.linspace(1.0, 81.0, GRID[0] * GRID[1]).reshape(GRID)
    depth[0, 0] = 0.0 if key == "a-1" else np.nan
    return depth


def put_grid(file, depth):
    grid = np.stack([depth * 0 - 1, depth * 0 - 2, depth * 0 - 3, depth], axis=-1)
    savemat(file, {"other": "text", "Position3DGrid": grid}, do_compression=True)


def put_image(file, colour, size=(28, 40)):
    """An image of one colour, but for a white upper half of the left column of the grid."""
    Image = pytest.importorskip("PIL.Image")
    pixels = np.full((size[1], size[0], 3), colour, dtype=np.uint8)
    pixels[: size[1] // 5, : size[0] // 7] = 255
    Image.fromarray(pixels).save(file, quality=100, subsampling=0)


@pytest.fixture
def make3d(tmp_path):
    """A folder as the archives of Make3D unpack to, with two images to train and one to test."""
    for name in ("Train400Img", "Train400Depth", "Test134", "Gridlaserdata"):
        (tmp_path / name).mkdir()
    for key, colour in COLOURS.items():
        images, depths = (
            ("Test134", "Gridlaserdata") if key == "a-1" else ("Train400Img", "Train400Depth")
        )
        put_image(tmp_path / images / f"img-{key}.jpg", colour)
        put_grid(tmp_path / depths / f"depth_sph_corr-{key}.mat", depth_of(key))
    return tmp_path


def test_make3d_is_read(make3d):
    data = depth_data.read_make3d(make3d)
    assert repr(data).startswith("DepthImages('make3d', 3 images of 5 x 7: 2 train, 1 test;")
    assert data.index.tolist() == ["b-2", "c-3", "a-1"]
    assert data.split.tolist() == ["train", "train", "test"]
    assert data.depth.dtype == np.float32
    for i, key in enumerate(data.index):
        depth = depth_of(key)
        np.testing.assert_allclose(data.depth[i], depth, rtol=1e-6)
        # Error C1: what is missing, and what is 70 m or farther, is left out.
        np.testing.assert_array_equal(data.mask[i], (depth > 0) & (depth < 70))
        assert not data.mask[i, 0, 0]
        assert data.mask[i].sum() < GRID[0] * GRID[1] - 1
        # Colours are averaged over each cell; JPEG is a shade or two off.
        shade = data.images[i].astype(int)
        assert np.abs(shade[0, 0] - 255).max() <= 3
        assert np.abs(shade[2:, 2:] - COLOURS[key]).max() <= 3
    assert data.images.dtype == np.uint8
    assert data.images.shape == (3, *GRID, 3)


def test_one_folder_without_a_split_is_read(tmp_path):
    root = tmp_path / "mine"
    root.mkdir()
    put_image(root / "img-x.jpg", (1, 2, 3))
    put_grid(root / "depth_sph_corr-x.mat", depth_of("x"))
    data = depth_data.read_make3d(str(root))
    assert data.split.tolist() == [""]
    assert "1 of no split" in repr(data)


def test_a_folder_without_images_is_refused(tmp_path):
    with pytest.raises(datasets.DatasetError, match=r"no image img-\*\.jpg"):
        depth_data.read_make3d(tmp_path)
    with pytest.raises(datasets.DatasetError, match="no such folder"):
        depth_data.read_make3d(tmp_path / "none")


@pytest.mark.parametrize(
    "lost, expected",
    [
        ("Train400Depth/depth_sph_corr-b-2.mat", "depth_sph_corr-b-2.mat in"),
        ("Train400Img/img-b-2.jpg", "img-b-2.jpg in"),
    ],
)
def test_what_has_no_counterpart_is_refused(make3d, lost, expected):
    (make3d / lost).unlink()
    with pytest.raises(datasets.DatasetError, match=rf"\(1 of 3 have none\); expected {expected}"):
        depth_data.read_make3d(make3d)


def test_two_files_of_one_name_are_refused(make3d):
    put_image(make3d / "Train400Img" / "img-a-1.jpg", (0, 0, 0))
    with pytest.raises(datasets.DatasetError, match="have the same name"):
        depth_data.read_make3d(make3d)


@pytest.mark.parametrize("name", ["Train400Depth/depth_sph_corr-b-2.mat", "Test134/img-a-1.jpg"])
@pytest.mark.parametrize("left", [0, 60, 0.5, 0.9])
def test_truncated_files_are_refused(make3d, name, left):
    file = make3d / name
    content = file.read_bytes()
    file.write_bytes(content[: left if isinstance(left, int) else int(left * len(content))])
    with pytest.raises(datasets.DatasetError, match=re.escape(str(file))) as caught:
        depth_data.read_make3d(make3d)
    assert "Copy the file again." in str(caught.value)


def test_files_of_another_kind_are_refused(make3d):
    file = make3d / "Train400Depth" / "depth_sph_corr-b-2.mat"
    savemat(file, {"Position3DGrid": np.zeros(GRID)})
    with pytest.raises(datasets.DatasetError, match=r"\(h, w, 4\) and found one of float64 \(5, 7"):
        depth_data.read_make3d(make3d)
    savemat(file, {"depthMap": np.zeros(GRID)})
    with pytest.raises(datasets.DatasetError, match="and found none"):
        depth_data.read_make3d(make3d)
    put_grid(file, np.ones((6, 7)))
    with pytest.raises(datasets.DatasetError, match=r"grid of \(5, 7\) and .* one of \(6, 7\)"):
        depth_data.read_make3d(make3d)


def test_without_pillow_the_error_names_the_extra(make3d, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name == "PIL":
            raise ImportError("no such package")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"needs Pillow.*pip install pillow$"):
        depth_data.read_make3d(make3d)
