"""A process that is killed while it learns and saves goes on where it was."""

import os
import subprocess
import sys

import pytest

# One process imports the library and then forks workers, each of which it kills. A worker reads the
# file, takes batch after batch and saves after each; it says through a pipe what is safe by now. It
# is killed at a random number of words, wherever it has got to since the last one.
CODE = r"""
import os, random, signal, sys
from pathlib import Path
import numpy as np
import trueline as tl

BATCH, KILLS = 40, 50
path = Path(sys.argv[1])

def batch(i):
    rng = np.random.default_rng(i)
    return rng.normal(size=BATCH) * (1 + i % 5), tl.Point(np.zeros(BATCH))

def fresh():
    return tl.Online(window=3000, coverage=0.8, alarm_rows=90).fit(*batch(0))

def work(pipe):
    online = tl.load(path) if path.exists() else fresh()
    while True:
        os.write(pipe, b"%d\n" % (online.rows_seen_ // BATCH))
        online.update(*batch(online.rows_seen_ // BATCH))
        os.write(pipe, b"-\n")
        online.to_json(path)

random.seed(0)
offline, saved, during = fresh(), 0, 0
for kill in range(KILLS):
    reader, writer = os.pipe()
    worker = os.fork()
    if not worker:
        os.close(reader)
        work(writer)
    os.close(writer)
    with os.fdopen(reader) as words:
        said = [words.readline().strip() for _ in range(random.randint(1, 12))]
        spin = sum(range(random.randint(0, 40_000)))  # so that it has got somewhere else
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)
        said += [word.strip() for word in words]
    safe = int([word for word in said if word != "-"][-1])
    during += said[-1] == "-"
    if not path.exists():
        assert safe == 1
        continue
    online = tl.load(path)
    rows = online.rows_seen_
    assert rows % BATCH == 0, rows
    done = rows // BATCH
    # The batch under way may be lost, or may just have been saved; nothing else.
    assert safe <= done <= safe + 1, (said, done)
    assert done >= saved
    saved = done
    while offline.rows_seen_ < rows:
        offline.update(*batch(offline.rows_seen_ // BATCH))
        offline.to_json()  # asks for whole blocks to be tested, as the worker did
    assert online.to_json() == offline.to_json()
left = [p.name for p in path.parent.iterdir() if p != path]
assert len(left) <= KILLS and all(name.startswith(".map.json.") for name in left), left
print(saved, during)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killed_fifty_times(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "map.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    batches, during_a_save = map(int, done.stdout.split())
    assert batches > 50
    assert 0 < during_a_save < 50  # some were killed while saving, some while learning
