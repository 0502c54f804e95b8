"""The picture of the README can be drawn anew, and is the one that is shown."""

import importlib.util
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def script():
    path = ROOT / "examples" / "readme_picture.py"
    spec = importlib.util.spec_from_file_location("readme_picture", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_writes_a_light_and_a_dark_picture_and_nothing_else(script, tmp_path, capsys):
    script.main(["--folder", str(tmp_path / "new"), "--seed", "3"])
    written = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert written == sorted(script.THEMES)
    for name in written:
        path = tmp_path / "new" / name
        with Image.open(path) as picture:
            assert picture.size == (1800, 880)
        assert path.stat().st_size < 150_000
    assert "split 3" in capsys.readouterr().out


def test_a_failed_write_leaves_nothing_behind(script, tmp_path, monkeypatch):
    def fail(self, target):
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        script.main(["--folder", str(tmp_path), "--seed", "3"])
    assert list(tmp_path.iterdir()) == []


def test_the_committed_pictures_are_small_and_of_the_right_size(script):
    for name in script.THEMES:
        path = ROOT / "docs" / "images" / name
        assert path.stat().st_size < 150_000
        with Image.open(path) as picture:
            assert picture.size == (1800, 880)
