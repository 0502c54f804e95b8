"""Sets from OpenML and the cache: the values we know or none."""

import gzip
import hashlib
import json
from io import BytesIO
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from tests.datasets.conftest import TABLE, make
from trueline import datasets
from trueline.datasets import _sets

# Kind 8 comes first among the labels, so that codes and numbers differ; a row has a gap.
SERVED = Bunch(
    data=np.array([[1.5, 1.0], [2.5, 0.0], [np.nan, 0.0], [0.1, 1.0]]),
    target=np.array([0.0, -1.25, 9.0, 3.0]),
    feature_names=["size", "kind"],
    categories={"kind": ["8", "4"]},
    frame=None,
)


@pytest.fixture
def serve(tiny, monkeypatch):
    """Let OpenML answer, and count how often it is asked."""

    def answer(bunch):
        asked = []

        def fetch_openml(**options):
            asked.append(options)
            return bunch

        monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
        return asked

    return answer


def check(data):
    np.testing.assert_array_equal(data.X, TABLE[:, :2])
    np.testing.assert_array_equal(data.y, TABLE[:, 2])
    assert data.feature_names == ("size", "kind")
    assert data.target_name == "height"


def test_a_set_is_fetched_by_number_and_kept(serve, cache):
    asked = serve(SERVED)
    check(datasets.load("tiny"))
    assert [options["data_id"] for options in asked] == [7]
    assert [file.name for file in cache.parent.iterdir()] == ["tiny.csv"]
    check(datasets.load("tiny"))
    assert len(asked) == 1


def test_where_the_folder_lacks_the_set_it_is_fetched(folder, serve):
    (folder / "uci" / "tiny.csv").unlink()
    asked = serve(SERVED)
    check(datasets.load("tiny"))
    assert len(asked) == 1


def test_what_is_kept_has_every_digit(serve, monkeypatch, cache):
    values = np.random.default_rng(0).normal(size=(50, 3)) * 10.0 ** np.arange(-150, 150, 100)
    known = make(rows=50, values_sum=hashlib.sha256(values.astype("<f8").tobytes()).hexdigest())
    monkeypatch.setitem(_sets.SETS, "tiny", known)
    served = Bunch(
        data=values[:, :2], target=values[:, 2], feature_names=["a", "b"], categories={}, frame=None
    )
    serve(served)
    datasets.load("tiny")
    serve(None)
    np.testing.assert_array_equal(datasets.load("tiny").X, values[:, :2])


def test_identifiers_and_columns_with_gaps_are_left_out(serve, monkeypatch):
    known = make(identifiers=("town",), gaps="columns")
    monkeypatch.setitem(_sets.SETS, "tiny", known)
    gaps = np.array([1.0, np.nan, 3.0])
    served = Bunch(
        data=np.column_stack([gaps, TABLE[:, 0], gaps, TABLE[:, 1]]),
        target=TABLE[:, 2],
        feature_names=["town", "size", "police", "kind"],
        categories={"town": ["Abbeville", "Aberdeen"]},
        frame=None,
    )
    serve(served)
    check(datasets.load("tiny"))


def test_where_there_is_text_a_frame_is_asked_for(tiny, monkeypatch):
    monkeypatch.setitem(_sets.SETS, "tiny", make(identifiers=("town",)))
    frame = pd.DataFrame(
        {
            "town": ["a", "b", "c", "d"],
            "size": [1.5, 2.5, np.nan, 0.1],
            "kind": pd.Categorical(["4", "8", "8", "4"], categories=["8", "4"]),
        }
    )
    asked = []

    def fetch_openml(*, as_frame, **options):
        asked.append(as_frame)
        if not as_frame:
            raise ValueError("STRING attributes are not supported. Try as_frame=True")
        names = list(frame.columns)
        return Bunch(frame=frame, data=frame, target=SERVED.target, feature_names=names)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    check(datasets.load("tiny"))
    assert asked == [False, True]


@pytest.mark.parametrize(
    "served, wrong",
    [
        (Bunch(**{**SERVED, "target": SERVED.target + 1.0}), "its values have the SHA-256 "),
        (
            Bunch(**{**SERVED, "data": SERVED.data[:3], "target": SERVED.target[:3]}),
            r"its features have shape \(2, 2\) and \(3, 2\) was expected",
        ),
    ],
    ids=["values", "shape"],
)
def test_another_set_under_that_number_is_refused(serve, cache, served, wrong):
    serve(served)
    with pytest.raises(datasets.DatasetError, match=wrong) as caught:
        datasets.load("tiny")
    assert "the data set tiny-1 of OpenML (https://www.openml.org/d/7)" in str(caught.value)
    assert "Set TRUELINE_DATA to a folder that holds uci/tiny.csv" in str(caught.value)
    assert not cache.exists()


def test_the_message_about_a_missing_set_names_three_remedies(tiny, cache):
    with pytest.raises(datasets.DatasetError) as caught:
        datasets.load("tiny")
    message = str(caught.value)
    assert "TRUELINE_DATA is not set" in message
    assert "URLError: <urlopen error no way out>" in message
    assert "(1) set TRUELINE_DATA to a folder that holds uci/tiny.csv" in message
    assert f"copy the file in its cache to {cache}" in message
    assert "(3) connect this machine to the internet" in message
    assert isinstance(caught.value.__cause__, URLError)


def test_it_says_that_the_folder_lacks_the_file(folder):
    (folder / "uci" / "tiny.csv").unlink()
    with pytest.raises(datasets.DatasetError, match=r"there is no file .*tiny\.csv; no file "):
        datasets.load("tiny")


@pytest.mark.parametrize(
    "spoilt",
    [b"size,kind,target\n1.5,4,0\n2.5,8,-1.25\n0.1,4,3.1\n", b"size,kind,target\n1.5,4", b"\xff"],
    ids=["another value", "cut off", "no text"],
)
def test_a_spoilt_cache_is_named(tiny, cache, offline, spoilt):
    cache.parent.mkdir(parents=True)
    cache.write_bytes(spoilt)
    with pytest.raises(
        datasets.DatasetError, match="in the cache, is not the data set 'tiny'"
    ) as caught:
        datasets.load("tiny")
    assert str(caught.value).startswith(str(cache))
    assert "Delete it, and it will be fetched again." in str(caught.value)
    assert not offline


def test_a_set_that_cannot_be_kept_is_still_returned(serve, cache):
    serve(SERVED)
    cache.parent.parent.mkdir()
    cache.parent.write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="'tiny' will be fetched again next time"):
        check(datasets.load("tiny"))


ARFF = b"""@RELATION tiny
@ATTRIBUTE size NUMERIC
@ATTRIBUTE kind {8, 4}
@ATTRIBUTE class NUMERIC
@DATA
1.5,4,0
2.5,8,-1.25
?,8,9
0.1,4,3
"""


def feature(index, name, kind, missing=0):
    return {
        "index": str(index),
        "name": name,
        "data_type": kind,
        "is_target": str(name == "class").lower(),
        "is_ignore": "false",
        "is_row_identifier": "false",
        "number_of_missing_values": str(missing),
    }


DOCUMENTS = {
    "data/features/7": {
        "data_features": {
            "feature": [
                feature(0, "size", "numeric", missing=1),
                feature(1, "kind", "nominal"),
                feature(2, "class", "numeric"),
            ]
        }
    },
    "data/qualities/7": {
        "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "4.0"}]}
    },
    "data/7": {
        "data_set_description": {
            "id": "7",
            "name": "tiny-1",
            "version": "1",
            "status": "active",
            "format": "ARFF",
            "description": "small",
            "file_id": "70",
            "url": "https://openml.org/data/v1/download/70/tiny.arff",
            "md5_checksum": hashlib.md5(ARFF).hexdigest(),
        }
    },
}


def test_what_scikit_learn_makes_of_the_answers_of_openml_is_understood(tiny, monkeypatch):
    from sklearn.datasets import _openml

    class Answer(BytesIO):
        def info(self):
            return {"Content-Encoding": "gzip"}

    def urlopen(request, *args, **kwargs):
        for part, document in DOCUMENTS.items():
            if request.full_url.endswith(part):
                return Answer(gzip.compress(json.dumps(document).encode()))
        assert "/70/" in request.full_url
        return Answer(gzip.compress(ARFF))

    monkeypatch.setattr(_openml, "urlopen", urlopen)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", _openml.fetch_openml)
    check(datasets.load("tiny"))
