"""`Journal`: no acknowledged row is lost, whatever happens to the process or its files."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import trueline as tl
from trueline.streams import Journal
from trueline.streams._records import START, encode

ZERO = tl.Point(0.0)


def rows(n, seed=0):
    y = np.random.default_rng(seed).normal(size=n)
    y[n // 2 :] *= 4.0
    return y


def fill(journal, y):
    for value in y:
        journal.update(value, ZERO)
    return journal


@pytest.mark.parametrize(
    "params",
    [{}, {"window": 90, "coverage": 0.8}, {"on_alarm": "forget", "recalibrator": tl.Smooth()}],
    ids=str,
)
def test_it_goes_on_where_it_was_bit_for_bit(params, tmp_path):
    rng = np.random.default_rng(1)
    y, never = rows(700), tl.Online(**params)
    journal, at = Journal(tmp_path / "new", tl.Online(**params), compact_every=64), 0
    while at < len(y):
        size = int(rng.choice([1, 1, 1, 7, 30]))
        part = y[at : at + size]
        w = rng.uniform(0.5, 2.0, len(part)) if rng.random() < 0.2 else None
        for stream in (journal, never):
            stream.update(part, tl.Point(np.zeros(len(part))), w)
        if rng.random() < 0.2:  # as a kill would leave it
            journal.close()
            journal = Journal(tmp_path / "new", compact_every=64, sync=False)
        at += size
    assert journal.online.drift_.alarms == 1
    assert journal.online.to_bytes() == never.to_bytes()
    np.testing.assert_array_equal(journal.transform(ZERO).ppf(0.3), never.transform(ZERO).ppf(0.3))
    left = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert left == ["lock", "rows.log", "stream.bin"]
    journal.close()


def test_a_record_that_was_cut_short_is_dropped(tmp_path):
    with Journal(tmp_path) as journal:
        fill(journal, rows(6))
        state = journal.online.to_bytes()
        start = (tmp_path / "rows.log").stat().st_size
        journal.update([1.0, 2.0], tl.Point([0.0, 0.0]), [1.0, 3.0])
    whole = (tmp_path / "rows.log").read_bytes()
    for stop in range(start, len(whole)):
        # Cut off, or room for it on disk but nothing written yet.
        for left in (whole[:stop], whole[:stop] + bytes(len(whole) - stop)):
            (tmp_path / "rows.log").write_bytes(left)
            with Journal(tmp_path) as journal:
                assert journal.online.rows_seen_ == 6
                assert journal.online.to_bytes() == state
    (tmp_path / "rows.log").write_bytes(whole[:-1])
    with Journal(tmp_path) as journal:  # it goes on after what it dropped, which was longer
        fill(journal, [5.0])
    with Journal(tmp_path) as journal:
        assert journal.online.rows_seen_ == 7


def test_damage_is_an_error_that_says_what_to_do(tmp_path):
    with Journal(tmp_path) as journal:
        fill(journal, rows(8))
    log, state = tmp_path / "rows.log", tmp_path / "stream.bin"
    whole, kept = log.read_bytes(), state.read_bytes()

    def refused(message):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            Journal(tmp_path)

    remedy = f"Restore it from a copy, or delete it to go on without the rows since {state} was"
    record = len(encode(0, np.ones(1), None))
    for place in range(len(whole)):  # the last record as well, for which an update had returned
        log.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        fault = "it does not start as a journal of this release does"
        if place >= len(START):
            at = place - (place - len(START)) % record
            fault = f"the record at byte {at} is not as it was written"
        refused(f"{log} is damaged: {fault}. {remedy} written.")
    log.write_bytes(b"")
    refused(f"{log} is damaged: it is empty. {remedy} written.")
    log.write_bytes(START + encode(20, np.ones(1), None))
    refused(f"{log} goes on with row 20, but {state} holds 1 row. {remedy} written.")
    log.write_bytes(whole)
    afresh = "from a copy of the folder, or begin a new stream in an empty folder."
    state.write_bytes(kept[:-9] + b"?" + kept[-8:])
    wrong = "its bytes are not those that were written"
    refused(f"{state} is not a valid trueline map: {wrong}. Restore it {afresh}")
    state.write_bytes(tl.Scaling().fit([1.0, 2.0], tl.Point([0.0, 0.0])).to_bytes())
    refused(f"{state} holds a Scaling; expected an Online. Name another folder.")
    state.unlink()
    refused(
        f"{state} is missing, but {log} holds rows that came after it was written. Restore both "
        f"from a copy, or begin a new stream in an empty folder."
    )
    log.unlink()
    with Journal(tmp_path) as journal:  # the folder was freed after each error
        assert not journal.online._is_fitted()


def test_rows_that_were_deleted_are_missed_aloud(tmp_path):
    with Journal(tmp_path) as journal:
        fill(journal, rows(8))
    log = tmp_path / "rows.log"
    log.unlink()
    gone = f"{log} is missing, and with it the rows since {tmp_path / 'stream.bin'} was written"
    message = f"^{re.escape(gone)}; the stream goes on with 1 row\\.$"
    with pytest.warns(UserWarning, match=message) as caught, Journal(tmp_path) as journal:
        fill(journal, rows(2))
    assert caught[0].filename == __file__
    with Journal(tmp_path) as journal:
        assert journal.online.rows_seen_ == 3


def test_rows_that_the_state_knows_are_not_learned_twice(tmp_path):
    with Journal(tmp_path) as journal:
        fill(journal, rows(8))
        log = (tmp_path / "rows.log").read_bytes()
        journal.compact()
        state = journal.online.to_bytes()
    (tmp_path / "rows.log").write_bytes(log)  # killed before the file was emptied
    with Journal(tmp_path) as journal:
        assert journal.online.to_bytes() == state
        fill(journal, [1.0])
    with Journal(tmp_path) as journal:
        assert journal.online.rows_seen_ == 9


def test_one_journal_per_folder(tmp_path):
    with Journal(tmp_path) as journal:
        fill(journal, rows(3))
        with pytest.raises(RuntimeError, match="is in use by another Journal"):
            Journal(tmp_path)
    with pytest.raises(ValueError, match=r"is closed; open it with Journal"):
        fill(journal, [1.0])
    journal.close()  # again


def test_what_does_not_fit_is_refused_and_changes_nothing(tmp_path):
    start = tl.Online(window=50).fit(rows(30), tl.Point(np.zeros(30)))
    with Journal(tmp_path, start) as journal:
        with pytest.raises(ValueError, match="y\\[0\\] is nan; expected finite numbers"):
            journal.update(np.nan, ZERO)
        size = (tmp_path / "rows.log").stat().st_size
        with pytest.raises(ValueError, match=r"^a score is 1e\+300, beyond what float64 can carry"):
            journal.update(1e300, ZERO)
        assert (tmp_path / "rows.log").stat().st_size == size
        fill(journal, [1.0])
        assert journal.online.rows_seen_ == 31
        journal.online.update(2.0, ZERO)
        with pytest.raises(RuntimeError, match=r"expected them to come by Journal\.update"):
            journal.update(2.0, ZERO)
    with pytest.raises(ValueError, match=r"Online\(window=50\), but online is Online\(\)"):
        Journal(tmp_path, tl.Online())
    calls = []
    with Journal(tmp_path, tl.Online(window=50, on_alarm=calls.append)) as journal:
        assert journal.online.rows_seen_ == 31
        fill(journal, 50.0 * rows(300))
        assert journal.online.drift_.alarms == len(calls) > 0
    other = tl.Online(window=50).fit(rows(30), tl.Normal(np.zeros(30), 1.0))
    kinds = "expected the same kind of scores: 'residual', not 'standardised'"
    with pytest.raises(ValueError, match=kinds):
        Journal(tmp_path, other)
    with pytest.raises(TypeError, match=r"^online is Isotonic\(\); expected an Online, or None\.$"):
        Journal(tmp_path, tl.Isotonic())
    with pytest.raises(ValueError, match=r"^folder is empty; expected the name of a folder"):
        Journal("")
    with pytest.raises(ValueError, match="compact_every is 0; expected an integer of 1 or more"):
        Journal(tmp_path, compact_every=0)


def test_a_full_disk_leaves_the_stream_as_it_was(tmp_path, monkeypatch):
    with Journal(tmp_path) as journal:
        fill(journal, rows(5))
        state = journal.online.to_bytes()

        def full(handle, data, place):
            os.write(os.open(tmp_path / "rows.log", os.O_WRONLY | os.O_APPEND), data[:9])
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("trueline.streams._journal.os.pwrite", full)
        with pytest.raises(OSError, match=r"cannot write .*rows\.log: No space left on device"):
            journal.update(1.0, ZERO)
        assert journal.online.to_bytes() == state
    monkeypatch.undo()
    with Journal(tmp_path) as journal:
        assert journal.online.to_bytes() == state


# One process imports the library and then forks workers, each of which it kills. A worker opens the
# journal, updates row by row, and says through a pipe which rows were acknowledged.
CODE = r"""
import os, random, signal, sys
import numpy as np
import trueline as tl
from trueline.streams import Journal

KILLS, folder = 25, sys.argv[1]
ZERO = tl.Point(0.0)
y = np.random.default_rng(0).normal(size=100_000)

def work(pipe):
    journal = Journal(folder, tl.Online(coverage=0.8), compact_every=5)
    row = journal.online.rows_seen_ if journal.online._is_fitted() else 0
    os.write(pipe, b"%d\n" % row)
    while True:
        journal.update(y[row], ZERO)
        row += 1
        os.write(pipe, b"%d\n" % row)

random.seed(0)
never, opened = tl.Online(coverage=0.8), 0
for kill in range(KILLS):
    reader, writer = os.pipe()
    worker = os.fork()
    if not worker:
        os.close(reader)
        work(writer)
    os.close(writer)
    with os.fdopen(reader) as words:
        said = [words.readline().strip() for _ in range(random.randint(1, 20))]
        spin = sum(range(random.randint(0, 40_000)))  # so that it has got somewhere else
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)
        said += [word.strip() for word in words]
    acknowledged = int(said[-1])
    with Journal(folder, tl.Online(coverage=0.8), compact_every=5) as journal:
        rows = journal.online.rows_seen_ if journal.online._is_fitted() else 0
        # The row under way may just have been written; nothing else.
        assert acknowledged <= rows <= acknowledged + 1, (said, rows)
        seen = never.rows_seen_ if never._is_fitted() else 0
        for row in range(seen, rows):
            never.update(y[row], ZERO)
        if rows:
            assert journal.online.to_bytes() == never.to_bytes()
            opened += rows > acknowledged
assert set(os.listdir(folder)) <= {"lock", "rows.log", "stream.bin"}, os.listdir(folder)
print(rows, opened)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_twenty_five_times(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > 50
