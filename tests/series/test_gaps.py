"""No window bridges a gap or a border: against a reference that looks at one day at a time."""

import math

import numpy as np
from hypothesis import given, strategies as st

from tests.series.cases import DAY
from trueline.series import windows

START = np.datetime64("2016-02-20")

# What a day may be: not in the frame, without a value, without a covariate, or known.
DAYS = st.lists(
    st.sampled_from(["absent", "no value", "no covariate", "known", "known", "known", "known"]),
    min_size=6,
    max_size=40,
)


def frame_of(series, begin):
    rows = []
    for name, kinds in series.items():
        for k, kind in enumerate(kinds):
            if kind != "absent":
                value = math.nan if kind == "no value" else 100.0 * (ord(name) - 96) + k
                offer = math.nan if kind == "no covariate" else 0.5 + k
                rows.append((begin[name] + k, name, value, offer))
    day, *rest = map(np.array, zip(*rows, strict=True))
    return dict(zip(("date", "name", "value", "offer"), (START + day * DAY, *rest), strict=True))


def reference(series, begin, n_steps, planned, unknown):
    """One window at a time, by a look at each of its days."""

    def value(name, kinds, k):
        there = 0 <= k < len(kinds) and kinds[k] in ("known", "no covariate")
        return 100.0 * (ord(name) - 96) + k if there else math.nan

    def offer(kinds, k):
        there = 0 <= k < len(kinds) and kinds[k] in ("known", "no value")
        return 0.5 + k if there else math.nan

    out = []
    for name, kinds in series.items():
        for target in range(len(kinds) + 1):
            inputs = []
            for k in range(target - n_steps + 1, target + 1):
                inputs.append(value(name, kinds, k - 1))
                if planned:
                    inputs.append(offer(kinds, k))
            y = value(name, kinds, target)
            if not any(map(math.isnan, inputs)) and (unknown or not math.isnan(y)):
                out.append((inputs, y, START + (begin[name] + target) * DAY, name))
    return out


@given(
    first=DAYS,
    second=DAYS,
    n_steps=st.integers(1, 5),
    planned=st.booleans(),
    unknown=st.booleans(),
    follows=st.booleans(),
    shuffle=st.randoms(use_true_random=False),
)
def test_windows_are_those_of_the_reference(
    first, second, n_steps, planned, unknown, follows, shuffle
):
    whole = ["known"] * (n_steps + 1)  # so that each has a window
    series = {"a": whole + first, "b": whole + second}
    # A series may begin on the day after the last of the one before it in the frame.
    begin = {"a": 0, "b": len(series["a"]) if follows else 0}
    frame = frame_of(series, begin)
    # Series may be mixed, as long as each is in order.
    turn = np.argsort([shuffle.random() for _ in frame["date"]], kind="stable")
    names = frame["name"][turn]
    order = np.empty(len(turn), dtype=int)
    for name in ("a", "b"):
        order[names == name] = np.flatnonzero(frame["name"] == name)
    W = windows(
        {name: column[order] for name, column in frame.items()},
        series="name",
        covariates=["offer"] if planned else [],
        n_steps=n_steps,
        calendar=(),
        missing="forecast" if unknown else "drop",
    )
    expected = reference(series, begin, n_steps, planned, unknown)
    np.testing.assert_array_equal(W.X, [inputs for inputs, *_ in expected])
    np.testing.assert_array_equal(W.y, [y for _, y, *_ in expected])
    np.testing.assert_array_equal(W.dates, [date for *_, date, _ in expected])
    assert W.series.tolist() == [name for *_, name in expected]
    assert np.isfinite(W.X).all()


def test_a_window_does_not_go_from_one_series_into_the_next():
    frame = {
        "date": START + np.arange(8) * DAY,
        "name": np.repeat(["a", "b"], 4),
        "value": np.arange(8.0),
    }
    W = windows(frame, series="name", n_steps=2, calendar=())
    np.testing.assert_array_equal(W.y, [2.0, 3.0, 6.0, 7.0])
    np.testing.assert_array_equal(W.X[2], [4.0, 5.0])
