"""Files are written whole or not at all."""

import errno
import os
import stat

import pytest

from trueline._files import whole_file, write_text


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
