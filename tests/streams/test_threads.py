"""One thread updates, others read: they see the stream before or after an update, never between."""

import copy
import math
import pickle
import sys
import threading

import numpy as np
import pytest

import trueline as tl

ZERO = tl.Point(0.0)
ROWS = 150


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"window": 40},
        {"half_life": math.inf, "coverage": 0.8},
        {"half_life": 20.0, "coverage": 0.9},
        {"recalibrator": tl.Smooth(), "window": 60},
    ],
    ids=str,
)
def test_readers_see_whole_updates(params):
    y = np.random.default_rng(0).normal(size=200 + ROWS)
    online = tl.Online(**params).fit(y[:200], tl.Point(np.zeros(200)))
    single = copy.deepcopy(online)
    states, medians = {200: single.to_bytes()}, {single.transform(ZERO).ppf(0.4)[0]}
    for value in y[200:]:
        single.update(value, ZERO)
        states[single.rows_seen_] = single.to_bytes()
        medians.add(single.transform(ZERO).ppf(0.4)[0])
    done, faults, looked = threading.Event(), [], []

    def read():
        try:
            while not done.is_set():
                if online.transform(ZERO).ppf(0.4)[0] not in medians:
                    faults.append("a median of no state")
                twins = tl.load(online.to_bytes()), pickle.loads(pickle.dumps(online))
                if any(twin.to_bytes() != states[twin.rows_seen_] for twin in twins):
                    faults.append("a state between two updates")
                looked.append(online.drift_.rows)
        except Exception as error:  # noqa: BLE001  # any error is a fault
            faults.append(repr(error))

    threads = [threading.Thread(target=read) for _ in range(3)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # so that threads take turns within an update
    try:
        for thread in threads:
            thread.start()
        for value in y[200:]:
            online.update(value, ZERO)
    finally:
        done.set()
        for thread in threads:
            thread.join()
        sys.setswitchinterval(before)
    assert not faults, faults[:3]
    assert looked
    assert online.to_bytes() == single.to_bytes()


def test_several_writers_lose_no_row():
    online = tl.Online()

    def write():
        for value in range(50):
            online.update(float(value), ZERO)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert online.rows_seen_ == 200
    assert len(online.scores_.values) == 50
