"""A folder is replaced whole or not at all, whatever happens meanwhile."""

import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from trueline import _partial
from trueline._partial import LeftoverWarning
from trueline.files import FileError, _whole_folder
from trueline.files._whole_folder import whole_folder

NAMES = [Path("a.csv"), Path("north/b.csv")]


def write(path, text, *, force=True, meanwhile=lambda: None):
    with whole_folder(path, NAMES, force=force) as new:
        (new / "north").mkdir()
        for name in NAMES:
            (new / name).write_text(text)
        meanwhile()


def texts(path):
    return {str(f.relative_to(path)): f.read_text() for f in sorted(path.rglob("*.csv"))}


def content(text):
    return dict.fromkeys(map(str, NAMES), text)


@pytest.fixture(params=["exchange", "two steps"])
def swapped(request, monkeypatch):
    """Swap folders in one step, and in two where the system cannot."""
    if request.param == "two steps":
        monkeypatch.setattr(_whole_folder, "_exchanged", lambda *_: False)
    elif sys.platform != "linux":
        pytest.skip("only Linux exchanges folders")


@pytest.mark.usefixtures("swapped")
def test_a_folder_is_replaced_and_keeps_modes(tmp_path):
    out = tmp_path / "out"
    write(out, "one", force=False)
    assert texts(out) == content("one")
    out.chmod(0o700)
    (out / "a.csv").chmod(0o600)
    write(out, "two")
    assert texts(out) == content("two")
    assert [stat.S_IMODE(p.stat().st_mode) for p in (out, out / "a.csv")] == [0o700, 0o600]
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.usefixtures("swapped")
@pytest.mark.parametrize("force", [False, True])
def test_a_file_that_appears_in_it_meanwhile_is_not_deleted(tmp_path, force):
    out = tmp_path / "out"
    if force:
        write(out, "one")
    else:
        out.mkdir()
    check = _whole_folder._check_folder
    seen = []

    def late(folder, *others, **options):
        """Write at the last moment, when the old folder has been moved already."""
        seen.append(folder)
        if len(seen) == 3:
            (folder / "precious.csv").write_text("precious")
        check(folder, *others, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_whole_folder, "_check_folder", late)
        with pytest.raises(FileError, match="is there already" if not force else "precious.csv"):
            write(out, "two", force=force)
    assert texts(out) == {**(content("one") if force else {}), "precious.csv": "precious"}
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("what", ["folder", "file"])
def test_a_name_that_is_taken_meanwhile(tmp_path, what):
    out = tmp_path / "out"

    def take():
        path = out if what == "file" else out / "a.csv"
        path.parent.mkdir(exist_ok=True)
        path.write_text("precious")

    with pytest.raises(FileError, match=r"out (is there already|was written by something else)"):
        write(out, "ours", force=False, meanwhile=take)
    assert (out if what == "file" else out / "a.csv").read_text() == "precious"
    assert list(tmp_path.iterdir()) == [out]


def test_links(tmp_path):
    disk, out = tmp_path / "disk", tmp_path / "out"
    disk.mkdir()
    out.symlink_to(disk)
    write(out, "one", force=False)
    write(out, "two")
    assert out.is_symlink()
    assert texts(disk) == content("two")
    (disk / "a.csv").unlink()
    (disk / "a.csv").symlink_to("north/b.csv")
    with pytest.raises(FileError, match=r"out holds a.csv, a link that a file would replace\. "):
        write(out, "three")
    assert texts(disk) == content("two")


KILLED = """
import os, signal, sys
from pathlib import Path
from trueline.files import _whole_folder
_whole_folder._exchanged = lambda *_: False
rename = Path.rename
def killed(path, target):
    rename(path, target)
    os.kill(os.getpid(), signal.SIGKILL)
Path.rename = killed
with _whole_folder.whole_folder(Path(sys.argv[1]), [Path("a.csv")], force=True) as new:
    (new / "a.csv").write_text("new")
"""


def test_a_kill_between_two_steps_is_made_good_by_the_next_run(tmp_path, monkeypatch):
    out = tmp_path / "out"
    out.mkdir()
    (out / "a.csv").write_text("old")
    done = subprocess.run([sys.executable, "-c", KILLED, out], check=False)
    assert done.returncode < 0
    assert not out.exists()
    monkeypatch.setattr(_partial, "_searched", set())
    with pytest.warns(LeftoverWarning) as caught:
        write(tmp_path / "other", "next")
    assert texts(out) == {"a.csv": "old"}
    messages = [str(warning.message) for warning in caught]
    assert messages[0] == f"{out} is back in its place: a run that was killed had moved it aside."
    assert messages[1].startswith(f"removed {tmp_path / '.out.trueline-'}")
    assert {*tmp_path.iterdir()} == {tmp_path / "other", out}


def test_nothing_is_deleted_if_the_way_back_is_closed(tmp_path, monkeypatch):
    out = tmp_path / "out"
    write(out, "old")
    monkeypatch.setattr(_whole_folder, "_exchanged", lambda *_: False)
    rename = Path.rename

    def interfere(path, target):
        rename(path, target)
        if "old" in target.parts:
            out.mkdir()
            (out / "a.csv").write_text("someone else's")

    monkeypatch.setattr(Path, "rename", interfere)
    with pytest.raises(FileError, match="cannot write"):
        write(out, "new")
    assert (out / "a.csv").read_text() == "someone else's"
    (kept,) = tmp_path.glob(".out.trueline-*/old/out")
    assert texts(kept) == content("old")


def test_an_interrupt_during_the_cleaning_up_leaves_nothing(tmp_path, swapped, monkeypatch):
    write(tmp_path / "out", "old")
    calls, rmtree = [], shutil.rmtree

    def interrupted(path, **options):
        calls.append(path)
        if len(calls) == 1:
            raise KeyboardInterrupt
        rmtree(path, **options)

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "out", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert texts(tmp_path / "out") == content("new")
