"""Data sets from files with the expected checksum."""

import dataclasses
import hashlib
import os
import re

import numpy as np
import pytest

import trueline as tl
from tests.datasets.conftest import CSV, TABLE
from trueline import datasets

DATA = os.environ.get("TRUELINE_DATA")


def test_the_module_is_offered_at_the_top():
    assert tl.datasets is datasets


def test_there_are_eight_sets_and_info_tells_of_each():
    known = datasets.info()
    assert [one.name for one in known] == datasets.names()
    assert len(known) == len({one.file_sum for one in known}) == 8
    assert len({one.values_sum for one in known}) == len({one.openml_id for one in known}) == 8
    for one in known:
        assert re.fullmatch("[0-9a-f]{64}", one.file_sum)
        assert re.fullmatch("[0-9a-f]{64}", one.values_sum)
        assert one.licence
        for text in (one.name, str(one.rows), one.target, one.source, one.licence, one.notes):
            assert text in repr(one)
        assert one.file_sum not in repr(one)


@pytest.mark.skipif(not DATA, reason="TRUELINE_DATA is not set")
@pytest.mark.parametrize("known", datasets.info(), ids=datasets.names())
def test_the_eight_files(known):
    data = datasets.load(known.name)
    assert data.X.shape == (known.rows, known.features)
    assert data.y.shape == (known.rows,)
    assert len(data.feature_names) == known.features
    assert np.isfinite(data.X).all()
    # By their values too, which is how the cache and OpenML are checked.
    assert datasets._load._difference(known, data) == ""


def test_a_file_is_read(folder):
    data = datasets.load("tiny")
    np.testing.assert_array_equal(data.X, TABLE[:, :2])
    np.testing.assert_array_equal(data.y, TABLE[:, 2])
    assert data.X.dtype == data.y.dtype == np.float64
    assert data.feature_names == ("size", "kind")
    assert (data.name, data.target_name) == ("tiny", "height")
    assert repr(data) == "Dataset('tiny', 3 rows x 2 features, target 'height')"
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.y = None


def test_each_load_owns_its_arrays(folder):
    datasets.load("tiny").X[:] = 0.0
    np.testing.assert_array_equal(datasets.load("tiny").X, TABLE[:, :2])


def test_a_file_with_another_sum_is_refused(folder, offline):
    file = folder / "uci" / "tiny.csv"
    file.write_bytes(CSV.replace(b"1.5", b"1.6"))
    with pytest.raises(datasets.DatasetError) as caught:
        datasets.load("tiny")
    message = str(caught.value)
    assert message.startswith(f"{file} is not the file of the data set 'tiny': ")
    assert "expected another SHA-256" in message
    assert "Copy the file again, byte for byte, or unset TRUELINE_DATA" in message
    assert not offline  # nor is another looked for behind the user's back


def test_changed_line_ends_are_named(folder):
    (folder / "uci" / "tiny.csv").write_bytes(CSV.replace(b"\n", b"\r\n"))
    with pytest.raises(datasets.DatasetError, match="its line ends are CRLF, and LF was expected"):
        datasets.load("tiny")


@pytest.mark.parametrize(
    "name, hint",
    [("kinematic", " Did you mean 'kinematics'?"), ("MPG", " Did you mean 'mpg'?"), ("zzz", "")],
)
def test_a_misspelt_name_gets_a_hint(name, hint):
    with pytest.raises(
        ValueError, match=f"{name!r} is not a data set; expected one of mpg, "
    ) as caught:
        datasets.load(name)
    assert str(caught.value).endswith(f"bank, wine.{hint}")


def test_a_data_file_is_read_and_checked(folder):
    file = folder / "mine.bin"
    file.write_bytes(b"content")
    known = hashlib.sha256(b"content").hexdigest()
    options = {"source": "ours", "remedy": "Ask us"}
    assert datasets.read_data_file("mine.bin", known, **options) == b"content"
    with pytest.raises(datasets.DatasetError, match=r"is not the expected file.*byte\. Ask us\."):
        datasets.read_data_file("mine.bin", "0" * 64, **options)
    with pytest.raises(datasets.DatasetError, match=r"no file .*other.*are ours.*Ask us\."):
        datasets.read_data_file("other", known, **options)
