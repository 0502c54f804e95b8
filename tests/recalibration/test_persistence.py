"""Maps as files: exact to the last bit, whole or not at all, and nothing hostile gets in."""

import copy
import errno
import json
import os
import re
import stat
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import trueline as tl
from tests.recalibration.documents import signed
from trueline._messages import InputError
from trueline.recalibration import sign

RESIDUALS = tl.Point(np.zeros(4))


def valid_maps():
    rng = np.random.default_rng(0)
    y, point = rng.normal(size=12), tl.Point(np.zeros(12))
    groups = ["a", "b", "c"] * 4
    return {
        "exact": tl.Isotonic().fit(y, point),
        "weighted": tl.Scaling().fit(y, point, sample_weight=rng.uniform(0.5, 3.0, size=12)),
        "compressed": tl.Smooth(n_knots=4).fit(y, point).compress(5),
        "auto": tl.Auto([tl.Scaling(), tl.Isotonic(finite_sample=False)], cv=2).fit(y, point),
        "grouped": tl.Grouped(tl.BetaCalibration(), shrinkage=2.5).fit(y, point, groups=groups),
        "laws": tl.IDR().fit(y, point, sample_weight=rng.uniform(0.5, 3.0, size=12)),
    }


MAPS = valid_maps()
TEXTS = {name: map_.to_json() for name, map_ in MAPS.items()}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "map.json"


def document(name="exact"):
    return json.loads(TEXTS[name])


def refused(path, content, fault, remedy=""):
    """Assert that a file, signed unless it is bytes, is refused with this one error."""
    path.write_bytes(content if isinstance(content, bytes) else signed(content).encode())
    with pytest.raises(ValueError) as caught:  # noqa: PT011  (compared in full below)
        tl.load(path)
    assert type(caught.value) is InputError
    expected = f"{path} is not a valid trueline map: {fault}. Write it again with to_json.{remedy}"
    assert str(caught.value) == expected


# ---- what is written is read back ------------------------------------------------------


@pytest.mark.parametrize("name", MAPS)
def test_round_trip(path, name):
    text = MAPS[name].to_json()
    assert MAPS[name].to_json(path) is None
    loaded = tl.load(str(path))
    assert loaded.to_json() == text == path.read_text(encoding="utf-8")
    assert repr(loaded) == repr(MAPS[name])


def test_the_document_is_plain_json_with_a_version():
    found = document("compressed")
    assert list(found) == ["format", "version", "recalibrator", "state", "sha256"]
    assert found["format"] == "trueline-recalibrator"
    assert found["version"] == 1
    assert found["recalibrator"] == {
        "class": "Smooth",
        "params": {"n_knots": 4, "support": "auto"},
    }
    assert set(found["state"]["scores"]) == {"kind", "values", "lower", "upper", "error"}


MOST = 2.0**332
EXTREMES = [-MOST, -1 / MOST, -0.0, 1 / MOST, np.nextafter(1 / MOST, 1.0), 0.1 + 0.2]
EXTREMES += [1.0, np.nextafter(1.0, 2.0), 1e22, 1e23, np.nextafter(MOST, 1.0), MOST]


def test_every_score_survives(path):
    tl.Isotonic().fit(EXTREMES, tl.Point(np.zeros(len(EXTREMES)))).to_json(path)
    values = tl.load(path).scores_.values
    assert values.tobytes() == np.array(EXTREMES).tobytes()


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.floats(1 / MOST, MOST) | st.floats(-MOST, -1 / MOST), min_size=1, unique=True))
def test_any_scores_survive(y):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "map.json"
        map_ = tl.Isotonic().fit(y, tl.Point(np.zeros(len(y))))
        map_.to_json(file)
        assert tl.load(file).scores_.values.tobytes() == map_.scores_.values.tobytes()


@pytest.mark.parametrize(
    "groups",
    [["a", "", "ü\u2028\x00"], [0, -1, 2**62], [0.1, -2.5, 1e300], [True, False, True]],
    ids=repr,
)
def test_names_of_groups_survive(path, groups):
    y, forecast = [1.0, 2.0, 3.0], tl.Point(np.zeros(3))
    map_ = tl.Grouped().fit(y, forecast, groups=groups)
    map_.to_json(path)
    loaded = tl.load(path)
    assert loaded.groups_ == map_.groups_
    assert [type(key) for key in loaded.groups_] == [type(key) for key in map_.groups_]
    np.testing.assert_array_equal(
        loaded.transform(forecast, groups=groups).mean(),
        map_.transform(forecast, groups=groups).mean(),
    )


def test_names_of_groups_as_numpy_objects(path):
    groups = np.array([np.int64(3), np.int64(4), np.int64(3), np.int64(4)], dtype=object)
    map_ = tl.Grouped().fit([1.0, 2.0, 3.0, 4.0], RESIDUALS, groups=groups)
    assert map_.groups_ == [3, 4]
    map_.to_json(path)
    assert tl.load(path).groups_ == [3, 4]


# ---- files that are not maps -----------------------------------------------------------


def test_a_missing_file(path):
    with pytest.raises(FileNotFoundError, match=re.escape(str(path))):
        tl.load(path)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows says PermissionError")
def test_a_directory(tmp_path):
    with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
        tl.load(tmp_path)


def test_an_oversized_file(path):
    MAPS["exact"].to_json(path)
    size = path.stat().st_size
    tl.load(path, max_bytes=10 * size)
    with pytest.raises(ValueError, match=r"reading it takes up to .*, or raise max_bytes\.$"):
        tl.load(path, max_bytes=2 * size)
    message = (
        f"{path} has {size} bytes; expected at most {size - 1}. "
        f"Compress the map before writing it, or raise max_bytes."
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        tl.load(path, max_bytes=size - 1)


def test_an_oversized_file_is_not_read(path):
    with path.open("wb") as file:
        file.truncate(1 << 40)  # sparse: a terabyte that takes no space
    with pytest.raises(ValueError, match="has 1099511627776 bytes; expected at most 268435456"):
        tl.load(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"\x80\x04\x95pickle", b"\x00" * 8, b"{}", b"null", b"[1, 2]", b"[" * 100_000],
    ids=lambda value: repr(value)[:24],
)
def test_what_is_no_document(path, content):
    refused(path, content, "its format is not 'trueline-recalibrator'")


FORMAT = '{"format": "trueline-recalibrator"'


@pytest.mark.parametrize(
    "content, fault",
    [
        (FORMAT + "} {}", "it is not JSON (Extra data: line 1 column 37 (char 36))"),
        (FORMAT + ', "a": NaN}', "it holds NaN"),
        (FORMAT + ', "a": 1, "a": 1}', "a key stands twice"),
        (FORMAT + ', "a": ' + "[" * 100_000 + "}", "it is nested too deeply"),
        (FORMAT + ', "a": ' + '{"a":' * 50_000 + "1" + "}" * 50_001, "it is nested too deeply"),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_what_is_signed_and_no_document(path, content, fault):
    refused(path, content, fault)


def test_a_number_with_too_many_digits(path):
    path.write_text(signed(FORMAT + ', "a": ' + "1" * 5000 + "}"))
    with pytest.raises(ValueError, match=r"is not a valid trueline map: it is not JSON \(Exceeds"):
        tl.load(path)


# ---- the checksum ----------------------------------------------------------------------

SIGN = " If you edited it on purpose, sign it: trueline.recalibration.sign(path)."


@pytest.mark.parametrize("name", TEXTS)
def test_every_truncation_is_refused(path, name):
    text = TEXTS[name]
    for length in range(0, len(text), 7):
        path.write_text(text[:length])
        with pytest.raises(ValueError, match=r"its format is not|it has no checksum at its end"):
            tl.load(path)


@pytest.mark.parametrize("write", [tl.Recalibrator.to_json, tl.Recalibrator.to_bytes])
def test_every_flipped_bit_is_refused(write):
    """In ``benchmarks/fuzz.py`` in larger number."""
    data = write(MAPS["grouped"])
    data = data.encode() if isinstance(data, str) else data
    for bit in np.random.default_rng(0).permutation(8 * len(data))[:1500]:
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << (bit % 8)
        try:
            found = tl.load(bytes(damaged))
        except ValueError:
            continue
        # A space before or after the checksum may become another one.
        assert found.to_bytes() == MAPS["grouped"].to_bytes()


def test_a_map_without_its_checksum_is_refused(path):
    found = document()
    del found["sha256"]
    fault = "it has no checksum at its end, so it was damaged or edited"
    refused(path, json.dumps(found).encode(), fault, SIGN)
    # Other tools may sort the keys or write spaces, so that the checksum is not that of the text.
    refused(path, json.dumps(document(), sort_keys=True).encode(), fault, SIGN)
    fault = "its checksum is wrong, so it was damaged or edited"
    refused(path, json.dumps(document(), indent=1).encode(), fault, SIGN)


@pytest.mark.parametrize("style", [{"indent": 2}, {"sort_keys": True}, {"separators": (",", ":")}])
def test_a_map_that_was_edited_by_hand_can_be_signed(path, style):
    found = document()
    found["state"]["scores"]["values"][-1] = 99.5
    text = json.dumps(found, **style)
    path.write_text(text + "\n")
    sign(path)
    assert tl.load(path).scores_.values[-1] == 99.5
    signed_text = path.read_text()
    sign(path)
    assert path.read_text() == signed_text
    if "indent" in style:  # the layout is kept
        assert text.splitlines()[:-3] == signed_text.splitlines()[:-1]


def test_only_an_object_is_signed(path):
    for content in (b"", b"[1]", b"{}", b"\xff{}", MAPS["exact"].to_bytes()):
        path.write_bytes(content)
        with pytest.raises(InputError, match="is not a JSON object; expected a map that to_json"):
            sign(path)
        assert path.read_bytes() == content


# ---- documents that are not maps -------------------------------------------------------

CLASSES = str(
    sorted(["Auto", "BetaCalibration", "Grouped", "IDR", "Isotonic", "Online", "Scaling", "Smooth"])
)
KINDS = "('standardised', 'residual', 'normal score')"


@pytest.mark.parametrize(
    "name, where, value, fault",
    [
        ("exact", ["format"], "pickle", "its format is not 'trueline-recalibrator'"),
        ("exact", ["format"], None, "its format is not 'trueline-recalibrator'"),
        ("exact", ["version"], 2, "its version is 2 and this release reads 1"),
        ("exact", ["version"], "1", "its version is '1' and this release reads 1"),
        ("exact", ["version"], 1.0, "its version is 1.0 and this release reads 1"),
        ("exact", ["version"], True, "its version is True and this release reads 1"),
        (
            "exact",
            ["extra"],
            1,
            "it must hold format, version, recalibrator and state, and nothing else",
        ),
        (
            "exact",
            ["recalibrator"],
            "Isotonic",
            "a recalibrator is not described by its class and params",
        ),
        (
            "exact",
            ["recalibrator", "extra"],
            1,
            "a recalibrator is not described by its class and params",
        ),
        (
            "exact",
            ["recalibrator", "class"],
            "os.system",
            f"its class is 'os.system', expected one of {CLASSES}",
        ),
        ("exact", ["recalibrator", "class"], [1], f"its class is [1], expected one of {CLASSES}"),
        (
            "exact",
            ["recalibrator", "class"],
            "x" * 10_000,
            f"its class is 'xxxxxxxxxxxx...xxxxxxxxxxxxx', expected one of {CLASSES}",
        ),
        (
            "exact",
            ["recalibrator", "params"],
            {},
            "the params of Isotonic must be ['finite_sample', 'support']",
        ),
        (
            "exact",
            ["recalibrator", "params", "extra"],
            1,
            "the params of Isotonic must be ['finite_sample', 'support']",
        ),
        (
            "exact",
            ["recalibrator", "params", "finite_sample"],
            1,
            "finite_sample is 1; expected True or False",
        ),
        (
            "compressed",
            ["recalibrator", "params", "n_knots"],
            10**15,
            "n_knots is 1000000000000000; expected None or an integer of 2 to 10000",
        ),
        (
            "auto",
            ["recalibrator", "params", "candidates"],
            7,
            "candidates is 7; expected a list of recalibrators",
        ),
        (
            "auto",
            ["recalibrator", "params", "candidates"],
            [None],
            (
                "candidates is [None]; expected Isotonic, Smooth, BetaCalibration or Scaling "
                "objects, at least one"
            ),
        ),
        (
            "grouped",
            ["recalibrator", "params", "recalibrator"],
            {
                "class": "Grouped",
                "params": {"recalibrator": None, "shrinkage": 1.0, "support": "auto"},
            },
            (
                "recalibrator is Grouped(shrinkage=1.0); expected Isotonic, Smooth, "
                "BetaCalibration, Scaling or Auto"
            ),
        ),
        ("exact", ["state"], [], "it has no state"),
        ("exact", ["state"], {}, "its state must hold ['scores']"),
        ("exact", ["state", "groups"], [], "its state must hold ['scores']"),
        ("exact", ["state", "scores"], [1.0], "scores are not an object"),
        (
            "exact",
            ["state", "scores", "kind"],
            "rank",
            f"the kind of score is 'rank', not one of {KINDS}",
        ),
        (
            "exact",
            ["state", "scores", "kind"],
            None,
            f"the kind of score is None, not one of {KINDS}",
        ),
        ("exact", ["state", "scores", "extra"], 1, "scores hold unexpected fields"),
        ("exact", ["state", "scores", "values"], [], "values are not a list of numbers"),
        ("exact", ["state", "scores", "values"], None, "values are not a list of numbers"),
        ("exact", ["state", "scores", "values"], {"0": 1.0}, "values are not a list of numbers"),
        ("exact", ["state", "scores", "values"], ["1.0"], "values hold what is no number"),
        ("exact", ["state", "scores", "values"], [True], "values hold what is no number"),
        ("exact", ["state", "scores", "values"], [None], "values hold what is no number"),
        ("exact", ["state", "scores", "values"], [[1.0]], "values hold what is no number"),
        ("exact", ["state", "scores", "values"], [10**400], "values hold a number beyond float64"),
        ("exact", ["state", "scores", "values"], [2.0, 1.0], "values do not increase"),
        ("exact", ["state", "scores", "values"], [1.0, 1.0], "values do not increase"),
        ("exact", ["state", "scores", "values"], [0.0, -0.0], "values do not increase"),
        ("weighted", ["state", "scores", "weights"], [1.0], "weights and values differ in length"),
        ("weighted", ["state", "scores", "weights"], "none", "weights are not a list of numbers"),
        ("weighted", ["state", "scores", "weights", 3], -1.0, "a weight is not above 0"),
        ("weighted", ["state", "scores", "weights", 3], 0.0, "a weight is not above 0"),
        ("weighted", ["state", "scores", "weights", 3], "1", "weights hold what is no number"),
        ("compressed", ["state", "scores", "lower", 1], -1.0, "cumulative weights decrease"),
        ("compressed", ["state", "scores", "lower", 0], 0.0, "cumulative weights decrease"),
        ("compressed", ["state", "scores", "upper", 2], 1e9, "cumulative weights decrease"),
        ("compressed", ["state", "scores", "upper"], [1.0], "upper and values differ in length"),
        ("compressed", ["state", "scores", "error"], -0.1, "error is not within 0 and 1"),
        ("compressed", ["state", "scores", "error"], 1.5, "error is not within 0 and 1"),
        ("compressed", ["state", "scores", "error"], "0", "error hold what is no number"),
        ("grouped", ["state", "groups"], [], "groups are not a list"),
        ("grouped", ["state", "groups"], {"a": 1}, "groups are not a list"),
        ("grouped", ["state", "groups", 0], "a", "a group is not a name and its scores"),
        ("grouped", ["state", "groups", 0], ["a"], "a group is not a name and its scores"),
        ("grouped", ["state", "groups", 0, 0], None, "the name of a group is None"),
        ("grouped", ["state", "groups", 0, 0], [1], "the name of a group is [1]"),
        ("grouped", ["state", "groups", 0, 0], "b", "group 'b' stands twice"),
        ("grouped", ["state", "groups", 0, 1], 1, "scores are not an object"),
        (
            "grouped",
            ["state", "groups", 0, 1, "kind"],
            "standardised",
            "the kind of score differs between groups",
        ),
        (
            "grouped",
            ["recalibrator", "params", "shrinkage"],
            -1,
            "shrinkage is -1; expected a number of rows of 0 or more",
        ),
    ],
    ids=lambda value: re.sub(r"\W+", "-", str(value))[:40],
)
def test_a_wrong_value(path, name, where, value, fault):
    found = document(name)
    node = found
    for key in where[:-1]:
        node = node[key]
    node[where[-1]] = value
    refused(path, found, fault)


@pytest.mark.parametrize("name", ["format", "version", "recalibrator", "state"])
def test_a_missing_part(path, name):
    found = document()
    del found[name]
    path.write_text(signed(found))
    with pytest.raises(ValueError, match="is not a valid trueline map"):
        tl.load(path)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_constants_that_are_no_json(path, constant):
    text = json.dumps(document()).replace("[-", f"[{constant}, -", 1)
    assert constant in text
    refused(path, text, f"it holds {constant}")


@pytest.mark.parametrize("number", ["1e400", "-1e400", "9" * 400])
def test_numbers_beyond_float64(path, number):
    found = document()
    found["state"]["scores"]["values"] = ["X"]
    text = json.dumps(found).replace('"X"', number)
    refused(path, text, "values hold a number beyond float64")


def test_a_group_named_by_a_number_beyond_float64(path):
    text = TEXTS["grouped"].replace('["a", {', "[1e400, {")
    assert text != TEXTS["grouped"]
    refused(path, text, "the name of a group is inf")


def test_weights_that_overflow(path):
    found = document("weighted")
    found["state"]["scores"]["weights"] = [1e29] * 12
    refused(path, found, "the weights overflow")


@pytest.mark.parametrize("depth", [300, 450, 900])
def test_deep_nesting_in_a_parameter(path, depth):
    text = TEXTS["auto"].replace('"cv": 2', '"cv": ' + "[" * depth + "]" * depth)
    assert text != TEXTS["auto"]
    path.write_text(signed(text))
    with pytest.raises(ValueError, match="is not a valid trueline map") as caught:
        tl.load(path)
    assert len(str(caught.value)) < 1000


def test_deep_nesting_of_recalibrators(path):
    text = '{"class": "Grouped", "params": {"recalibrator": %s, "shrinkage": 1, "support": null}}'
    nested = "null"
    for _ in range(50):
        nested = text % nested
    found = TEXTS["grouped"].replace(json.dumps(document("grouped")["recalibrator"]), nested)
    refused(path, found, "a recalibrator is not described by its class and params")


# ---- fuzz ------------------------------------------------------------------------------


def loads_or_refuses(content: bytes) -> None:
    """Assert that a file gives a ValueError of one line, or a map that works."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "map.json"
        file.write_bytes(content)
        try:
            map_, error = tl.load(file), None
        except ValueError as refusal:
            map_, error = None, refusal
        if error is not None:
            assert type(error) is InputError
            assert str(file) in str(error)
            assert len(str(error)) < 1000 + len(str(file))
            return
        assert isinstance(map_, tl.Recalibrator)
        again = Path(folder) / "again.json"
        map_.to_json(again)
        assert map_.to_json() == tl.load(again).to_json()
        if map_.is_exportable:  # isotonic laws do not compress
            assert map_.compress(2).compression_error_ <= 1.0


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["standardised", "Isotonic", "a", 10**400, -1, 0, 1e308, 5e-324]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


def places(node, path=()):
    """Every place in a JSON document."""
    yield path
    children = node.items() if isinstance(node, dict) else ()
    for key, child in enumerate(node) if isinstance(node, list) else children:
        yield from places(child, (*path, key))


@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=st.data())
def test_mutated_documents(data):
    found = document(data.draw(st.sampled_from(sorted(TEXTS))))
    for _ in range(data.draw(st.integers(1, 3))):
        where = data.draw(st.sampled_from(list(places(found))))
        value = data.draw(json_values)
        if not where:
            found = value
            break
        node = found
        for key in where[:-1]:
            node = node[key]
        action = data.draw(st.sampled_from(["replace", "delete", "repeat"]))
        if action == "replace":
            node[where[-1]] = value
        elif action == "delete":
            del node[where[-1]]
        elif isinstance(node, list):
            node.insert(where[-1], copy.deepcopy(node[where[-1]]))
        else:
            node[f"{where[-1]}!"] = value
    loads_or_refuses(signed(found).encode())


@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=st.data())
def test_mutated_bytes(data):
    content = bytearray(TEXTS[data.draw(st.sampled_from(sorted(TEXTS)))].encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        length = data.draw(st.integers(0, 4))
        junk = st.binary(max_size=4) | st.sampled_from([b"-", b"1", b"0", b",", b"e9", b"null"])
        content[at : at + length] = data.draw(junk)
    loads_or_refuses(bytes(content))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.binary(max_size=200))
def test_junk(content):
    loads_or_refuses(content)


# ---- writing ---------------------------------------------------------------------------


def full_disk(*args, **kwargs):
    raise OSError(errno.ENOSPC, "No space left on device")


def interrupt(*args, **kwargs):
    raise KeyboardInterrupt


@pytest.mark.parametrize("step", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize(
    "failure, error", [(full_disk, OSError), (interrupt, KeyboardInterrupt)], ids=["full", "stop"]
)
def test_a_write_that_fails_leaves_the_old_file(path, monkeypatch, step, failure, error):
    before = MAPS["exact"].to_json()
    MAPS["exact"].to_json(path)
    with monkeypatch.context() as patch:
        patch.setattr(os, step, failure)
        with pytest.raises(error):
            MAPS["weighted"].to_json(path)
    assert path.read_text(encoding="utf-8") == before
    assert list(path.parent.iterdir()) == [path]
    MAPS["weighted"].to_json(path)
    assert MAPS["weighted"].to_json() == path.read_text(encoding="utf-8")


def test_a_map_that_cannot_be_written_as_json_leaves_the_old_file(path):
    before = MAPS["exact"].to_json()
    MAPS["exact"].to_json(path)
    map_ = tl.Isotonic().fit([1.0, 2.0], tl.Point([0.0, 0.0]))
    map_.scores_.values = np.array([1.0, np.inf])
    with pytest.raises(ValueError, match="not JSON compliant"):
        map_.to_json(path)
    assert path.read_text(encoding="utf-8") == before
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_folder(tmp_path):
    target = tmp_path / "missing" / "map.json"
    message = (
        f"[Errno {errno.ENOENT}] cannot write {target}: No such file or directory. Name a folder "
        f"that is there, can be written to and has room"
    )
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(message)}$"):
        MAPS["exact"].to_json(target)


def test_a_folder_that_cannot_be_written_to(path, monkeypatch):
    def denied(*args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", denied)
    message = (
        f"[Errno {errno.EACCES}] cannot write {path}: Permission denied. Name a folder that is "
        f"there, can be written to and has room"
    )
    with pytest.raises(PermissionError, match=f"^{re.escape(message)}$"):
        MAPS["exact"].to_json(path)


def test_a_folder_in_place_of_the_file(tmp_path):
    target = tmp_path / "folder"
    target.mkdir()
    with pytest.raises(OSError, match=r".+"):
        MAPS["exact"].to_json(target)
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX modes")
@pytest.mark.parametrize("umask, mode", [(0o022, 0o644), (0o077, 0o600), (0o000, 0o666)])
def test_the_file_has_the_mode_of_a_plain_open(path, umask, mode):
    before = os.umask(umask)
    try:
        MAPS["exact"].to_json(path)
    finally:
        assert os.umask(before) == umask
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_relative_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    MAPS["exact"].to_json("map.json")
    assert repr(tl.load("map.json")) == "Isotonic(), fitted on 12 rows"
