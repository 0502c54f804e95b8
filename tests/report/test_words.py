"""Every case that the page can meet, in the words that it finds for it."""

import math

import pytest

from trueline._report._measure import chance_range
from trueline._report._words import Difference, Facts, explanations, headline

FLOOR = 1.65


def facts(
    coverage, name="forecast", *, rows=5000, error=None, width=1.0, crps=1.0, n_fit=None, target=0.9
):
    """A forecast with this coverage; its calibration error is the floor unless said."""
    low, high = chance_range(rows, target, n_fit, 0.05)
    floor = FLOOR / rows
    error = floor if error is None else error
    in_band = error <= 2 * floor
    return Facts(
        name, rows, n_fit, coverage, target, float(low), float(high), width, error, floor, in_band,
        crps,
    )  # fmt: skip


def before(coverage, **more):
    return facts(coverage, "before", **more)


def after(coverage, **more):
    return facts(coverage, "after", **more)


BETTER, WORSE, SAME = Difference(-0.2, 0.01), Difference(0.2, 0.01), Difference(0.01, 0.01)

HEADLINES = {
    "calibrated": (
        [facts(0.903)],
        "Your 90% intervals hold 90.3% of the time, as they should.",
    ),
    "too narrow": (
        [facts(0.61)],
        "Your 90% intervals hold 61% of the time, less often than they promise.",
    ),
    "too wide": (
        [facts(0.98)],
        (
            "Your 90% intervals hold 98% of the time, more often than they promise: they are wider "
            "than they need be."
        ),
    ),
    "mended": (
        [before(0.61), after(0.902, width=1.9)],
        (
            "Your 90% intervals hold 61% of the time; after recalibration 90.2%, and they are 1.9 "
            "times wider."
        ),
    ),
    "calibrated already": (
        [before(0.903), after(0.897, width=0.99)],
        (
            "Your 90% intervals hold 90.3% of the time, as they should; after recalibration 89.7%, "
            "and they are as wide as before."
        ),
    ),
    "too wide, mended": (
        [before(0.985), after(0.9, width=0.62)],
        (
            "Your 90% intervals hold 98.5% of the time; after recalibration 90%, and they are 38% "
            "narrower."
        ),
    ),
    "better but too narrow": (
        [before(0.61), after(0.82, width=1.4)],
        (
            "Your 90% intervals hold 61% of the time; after recalibration 82%, better but still "
            "too seldom, and they are 40% wider."
        ),
    ),
    "better but now too wide": (
        [before(0.61), after(0.96, width=2.4)],
        (
            "Your 90% intervals hold 61% of the time; after recalibration 96%, better but now too "
            "often, and they are 2.4 times wider."
        ),
    ),
    "worse": (
        [before(0.898), after(0.78)],
        (
            "Your 90% intervals hold 89.8% of the time, as they should; after recalibration 78%, "
            "which is worse."
        ),
    ),
    "no better": (
        [before(0.61), after(0.61)],
        "Your 90% intervals hold 61% of the time; after recalibration 61%, which is no better.",
    ),
    "few rows": (
        [facts(0.75, rows=12)],
        "Your 90% intervals hold 75% of the time, which 12 rows cannot tell from 90%.",
    ),
    "one row": (
        [facts(1.0, rows=1)],
        "Your 90% intervals hold 100% of the time, which 1 row cannot tell from 90%.",
    ),
    "few rows, but bad enough to see": (
        [facts(0.25, rows=12)],
        "Your 90% intervals hold 25% of the time, less often than they promise.",
    ),
    "off by more than chance, but by nothing": (
        [facts(0.9023, rows=1_000_000)],
        "Your 90% intervals hold 90.2% of the time, as they should.",
    ),
    "names of the user": (
        [facts(0.61, "raw"), facts(0.902, "isotonic", width=1.9)],
        (
            "With “raw”, 90% intervals hold 61% of the time; with “isotonic” 90.2%, and they are "
            "1.9 times wider."
        ),
    ),
    "no intervals": (
        [facts(0.0, width=0.0)],
        "Your forecast is one number a row and does not say how sure it is.",
    ),
    "no intervals, mended": (
        [before(0.0, width=0.0), after(0.9)],
        (
            "Your forecast is one number a row and does not say how sure it is; after "
            "recalibration it has 90% intervals that hold 90% of the time, as they should."
        ),
    ),
    "no intervals at all": (
        [before(0.0, width=0.0), after(0.0, width=0.0)],
        (
            "Your forecast is one number a row and does not say how sure it is; after "
            "recalibration it does not either."
        ),
    ),
    "endless": (
        [before(0.7), after(0.96, width=math.inf)],
        (
            "Your 90% intervals hold 70% of the time; after recalibration 96%, better but now too "
            "often, and they are endlessly wide."
        ),
    ),
    "another level": (
        [before(0.61, target=0.995), after(0.9955, target=0.995, width=3.0)],
        (
            "Your 99.5% intervals hold 61% of the time; after recalibration 99.6%, and they are 3 "
            "times wider."
        ),
    ),
}


@pytest.mark.parametrize("told, expected", HEADLINES.values(), ids=HEADLINES)
def test_headline(told, expected):
    assert headline(*told) == expected


CHANCE = {
    "rows": (
        [facts(0.61)],
        "By chance alone, a perfect forecast would show between 89.2% and 90.8% on 5,000 rows.",
    ),
    "rows of the fit": (
        [before(0.61), after(0.9, n_fit=3000)],
        (
            "By chance alone, a forecast recalibrated on 3,000 rows would show between 88.6% and "
            "91.4% on 5,000 rows."
        ),
    ),
    "few": (
        [facts(0.75, rows=12)],
        (
            "Only 12 rows: by chance alone even a perfect forecast would show anything from 67% to "
            "100%. A few hundred rows would tell more."
        ),
    ),
    "outside but near": (
        [facts(0.9023, rows=1_000_000)],
        (
            "By chance alone, a perfect forecast would show between 89.9% and 90.1% on 1,000,000 "
            "rows; 90.2% is outside, but so near to 90% that it hardly matters."
        ),
    ),
}


@pytest.mark.parametrize("told, expected", CHANCE.values(), ids=CHANCE)
def test_what_chance_does_to_the_share(told, expected):
    assert explanations(tuple(told), None)[0] == expected


LEVELS = {
    "noise": (
        [before(0.61, error=0.11), after(0.9)],
        (
            "Over all levels, from 10% to 90%, observed shares are off by 11 points; after "
            "recalibration by 0.6 points. Chance alone makes 0.6 points: nothing is left to win "
            "there."
        ),
    ),
    "some left": (
        [facts(0.61, error=0.11)],
        (
            "Over all levels, from 10% to 90%, observed shares are off by 11 points. Chance alone "
            "makes 0.6 points: the calibration error is 333 times its floor."
        ),
    ),
    "worse": (
        [before(0.9), after(0.7, error=0.04)],
        (
            "Over all levels, from 10% to 90%, observed shares are off by 0.6 points; after "
            "recalibration by 6.7 points, which is worse. Chance alone makes 0.6 points: the "
            "calibration error is 121 times its floor."
        ),
    ),
    "small": (
        [facts(0.9, rows=1_000_000, error=6e-6)],
        (
            "Over all levels, from 10% to 90%, observed shares are off by 0.08 points. Chance "
            "alone makes 0.04 points: the calibration error is 3.6 times its floor, but small."
        ),
    ),
    "few rows": (
        [facts(0.75, rows=12)],
        (
            "Over all levels, from 10% to 90%, observed shares are off by 12 points. Chance alone "
            "makes 12 points: these rows show no fault."
        ),
    ),
}


@pytest.mark.parametrize("told, expected", LEVELS.values(), ids=LEVELS)
def test_all_levels(told, expected):
    assert explanations(tuple(told), None)[1] == expected


def test_a_curve_in_its_band_has_nothing_left_to_win_whatever_the_floor_says():
    noisy = facts(0.9, error=3 * FLOOR / 5000)
    assert not noisy.at_the_floor
    assert Facts(**{**vars(noisy), "in_band": True}).at_the_floor


SCORES = {
    "better": (
        [before(0.61), after(0.9, crps=0.8)],
        BETTER,
        "goes from 1 to 0.8: 20% better.",
    ),
    "worse": (
        [before(0.61), after(0.9, crps=1.2)],
        WORSE,
        "goes from 1 to 1.2: 20% worse.",
    ),
    "noise": (
        [before(0.61), after(0.9, crps=1.01)],
        SAME,
        "goes from 1 to 1.01: no more than chance explains.",
    ),
    "the same": ([before(0.61), after(0.61)], Difference(0.0, 0.0), "stays at 1."),
    "endless": (
        [before(0.61), after(0.9, crps=math.inf)],
        Difference(math.inf, math.nan),
        "goes from 1 to ∞: worse.",
    ),
    "from nothing": (
        [before(0.61, crps=0.0), after(0.9, crps=0.2)],
        WORSE,
        "goes from 0 to 0.2: worse.",
    ),
}


@pytest.mark.parametrize("told, crps, expected", SCORES.values(), ids=SCORES)
def test_the_score(told, crps, expected):
    start = "CRPS, the score that weighs everything, "
    assert explanations(tuple(told), crps)[2] == start + expected


ADVICE = {
    "one, fine": ([facts(0.903)], None, "There is nothing to recalibrate."),
    "one, bad": (
        [facts(0.61, error=0.11)],
        None,
        "Recalibrate it on rows that the model has not seen, and look at both here.",
    ),
    "one, few rows": ([facts(0.75, rows=12)], None, None),
    "mended": ([before(0.61, error=0.11), after(0.9)], BETTER, None),
    "nothing to mend": (
        [before(0.9), after(0.9)],
        SAME,
        "There was nothing to recalibrate: the first was as good as chance lets anyone see.",
    ),
    "worse": (
        [before(0.9), after(0.7, error=0.1)],
        WORSE,
        "Keep the first, or recalibrate on more rows, and on rows that are like these.",
    ),
    "bad to worse": (
        [before(0.8, error=0.1), after(0.7, error=0.1)],
        WORSE,
        "Recalibrate on more rows, and on rows that are like these.",
    ),
    "holds at a cost": (
        [before(0.8, error=0.1), after(0.9)],
        WORSE,
        (
            "The score got worse all the same: recalibrate on more rows, and on rows that are like "
            "these."
        ),
    ),
    "not there yet": (
        [before(0.61, error=0.1), after(0.85, error=0.01)],
        BETTER,
        "To come closer, recalibrate on more rows, and on rows that are like these.",
    ),
}


@pytest.mark.parametrize("told, crps, expected", ADVICE.values(), ids=ADVICE)
def test_advice(told, crps, expected):
    lines = explanations(tuple(told), crps)[2 if crps is None else 3 :]
    assert lines == ([] if expected is None else [expected])
