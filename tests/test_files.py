"""Files are written whole or not at all."""

import contextlib
import errno
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from trueline import _partial
from trueline._files import FileError, whole_file, write_text
from trueline._partial import LeftoverWarning


def test_a_text_is_written_and_replaces_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "one")
    write_text(path, "zwölf")
    assert path.read_bytes() == "zwölf".encode()
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_of_that_name_is_left_alone(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match=r"cannot write .*taken: "):
        write_text(tmp_path / "taken", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("halfway")], ids=repr)
def test_work_that_stops_halfway_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def stop_halfway():
        with whole_file(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)):
        stop_halfway()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_named_with_what_to_do(tmp_path, monkeypatch):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="cannot write") as caught:
        write_text(tmp_path / "a.txt", "text")
    assert str(caught.value) == (
        f"[Errno {errno.ENOSPC}] cannot write {tmp_path / 'a.txt'}: No space left on device. Name "
        f"a folder that is there, can be written to and has room"
    )
    assert list(tmp_path.iterdir()) == []


def test_the_mode_is_that_of_a_plain_file(tmp_path):
    write_text(tmp_path / "ours", "text")
    (tmp_path / "plain").write_text("text")
    modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert len(modes) == 1


def test_a_file_that_appears_meanwhile_is_left_alone(tmp_path):
    path = tmp_path / "a.txt"

    def write_late():
        with whole_file(path, force=False) as file:
            file.write(b"ours")
            path.write_text("precious")

    with pytest.raises(FileError, match="written by something else meanwhile") as caught:
        write_late()
    assert str(caught.value) == (
        f"{path} was written by something else meanwhile, and is left as it is. Replace it with "
        f"force=True, or name another file."
    )
    assert path.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_system_without_hard_links(tmp_path, monkeypatch):
    def cannot(*_, **__):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", cannot)
    path = tmp_path / "a.txt"
    write_text(path, "one", force=False)
    with pytest.raises(FileError, match="meanwhile"):
        write_text(path, "two", force=False)
    assert path.read_text() == "one"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o664])
def test_the_mode_stays(tmp_path, mode):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


def test_a_private_file_is_private_while_it_is_written(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o600)
    with whole_file(path) as file:
        file.write(b"secret")
        (partial,) = set(tmp_path.iterdir()) - {path}
        assert stat.S_IMODE(partial.stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives away")
def test_the_owner_stays(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    os.chown(path, 1234, 5678)
    write_text(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 5678)


def test_another_group_gets_no_more_than_everyone(tmp_path, monkeypatch):
    def cannot(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o664)
    monkeypatch.setattr(os, "chown", cannot)
    write_text(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_link_stays_a_link(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "state").write_text("old")
    link = tmp_path / "link"
    link.symlink_to("disk/state")
    write_text(link, "new")
    assert link.is_symlink()
    assert (disk / "state").read_text() == "new"
    # A link to a file that is not there yet makes that file.
    (disk / "state").unlink()
    write_text(link, "again", force=False)
    assert link.is_symlink()
    assert (disk / "state").read_text() == "again"
    link.unlink()
    link.symlink_to("link")
    with pytest.raises(OSError, match=r"cannot write .*: Too many levels"):
        write_text(link, "text")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["disk", "link", "state"]


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "text")
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_the_folder_is_synced_after_the_file_has_its_name(tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync

    def watched(handle):
        synced.append((stat.S_ISDIR(os.fstat(handle).st_mode), (tmp_path / "a.txt").exists()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", watched)
    write_text(tmp_path / "a.txt", "text")
    assert synced == [(False, False), (True, True)]


KILLED = """
import os, signal, sys
from pathlib import Path
from trueline._files import whole_file
with whole_file(Path(sys.argv[1])) as file:
    file.write(bytes(1_500_000))
    file.flush()
    print("ready", flush=True)
    sys.stdin.read(1)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_leftovers_of_killed_runs_are_removed_but_not_what_is_being_written(tmp_path, monkeypatch):
    monkeypatch.setattr(_partial, "_searched", set())
    stranger = tmp_path / ".a.txt.tmp"
    stranger.write_text("not ours")
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "a.txt")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdout.read(5) == b"ready"
    write_text(tmp_path / "b.txt", "while the other is alive")
    (partial,) = set(tmp_path.iterdir()) - {stranger, tmp_path / "b.txt"}
    child.communicate(b"x")
    assert partial.exists()
    # Another host may still write to a file that is not old.
    far = partial.with_name(re.sub(r"trueline-[0-9a-f]{8}", "trueline-00000000", partial.name))
    shutil.copy(partial, far)
    monkeypatch.setattr(_partial, "_searched", set())
    with pytest.warns(LeftoverWarning) as caught:
        write_text(tmp_path / "b.txt", "the next run")
    assert [str(w.message) for w in caught] == [
        f"removed {partial} (1.5 MB), which a run that was killed had left behind."
    ]
    assert {*tmp_path.iterdir()} == {stranger, tmp_path / "b.txt", far}
    os.utime(far, (0, 0))
    monkeypatch.setattr(_partial, "_searched", set())
    with pytest.warns(LeftoverWarning, match="00000000"):
        write_text(tmp_path / "b.txt", "a day later")
    assert {*tmp_path.iterdir()} == {stranger, tmp_path / "b.txt"}


@pytest.mark.skipif(not hasattr(os, "fork") or os.geteuid() != 0, reason="only root changes users")
def test_a_folder_that_can_be_written_to_but_not_read():
    # Other users may not enter the folders of tmp_path.
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "inbox"
        folder.mkdir()
        folder.chmod(0o733)
        Path(parent).chmod(0o755)
        child = os.fork()
        if child == 0:
            os.setuid(65_534)
            with contextlib.suppress(BaseException):
                write_text(folder / "a.txt", "text", force=False)
                os._exit(0)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        assert [path.name for path in folder.iterdir()] == ["a.txt"]
