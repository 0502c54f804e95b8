"""Every case that the page can meet, in the words that it finds for it."""

import math

import pytest

from trueline._report._words import Difference, Facts, explanations, headline, is_recalibration
from trueline.metrics import Evaluation

FLOOR = 1.65


def facts(
    coverage,
    name="forecast",
    *,
    rows=5000,
    error=None,
    width=1.0,
    crps=1.0,
    log_score=math.nan,
    n_fit=None,
    target=0.9,
    chance=False,
    **more,
):
    """A forecast with this coverage; its calibration error is the floor unless said.

    An error above twice the floor is significant, unless chance explains it.
    """
    floor = FLOOR / rows
    error = floor if error is None else error
    unused = dict.fromkeys(("interval_score", "sharpness", "ence", "mae", "rmse"), 0.0)
    evaluation = Evaluation(
        n=rows,
        n_effective=float(rows),
        n_fit=n_fit,
        coverage=coverage,
        coverage_target=target,
        coverage_expected=target,
        interval_width=width,
        calibration_error=error,
        calibration_floor=floor,
        ks_statistic=1.2 / math.sqrt(rows) if chance else 3.0 / math.sqrt(rows),
        p_value=0.11 if chance else 0.0,
        crps=crps,
        log_score=log_score,
        **unused,
    )
    return Facts(name, evaluation, **more)


def before(coverage, **more):
    return facts(coverage, "before", **more)


def after(coverage, **more):
    return facts(coverage, "after", **more)


BETTER, WORSE, SAME = Difference(-0.2, 0.01), Difference(0.2, 0.01), Difference(0.01, 0.01)

HEADLINES = {
    "calibrated": (
        [facts(0.903)],
        "Your 90% intervals hold 90.3% of the time: as they should, up to chance.",
    ),
    "too narrow": (
        [facts(0.61)],
        "Your 90% intervals hold 61.0% of the time: too narrow.",
    ),
    "too wide": (
        [facts(0.98)],
        "Your 90% intervals hold 98.0% of the time: too wide.",
    ),
    "mended": (
        [before(0.61), after(0.902, width=1.9)],
        (
            "Your 90% intervals hold 61.0% of the time; after recalibration 90.2%, and they are "
            "1.9 times wider."
        ),
    ),
    "calibrated already": (
        [before(0.903), after(0.897, width=0.99)],
        (
            "Your 90% intervals hold 90.3% of the time (as they should, up to chance); after "
            "recalibration 89.7%, and they are as wide as before."
        ),
    ),
    "too wide, mended": (
        [before(0.985), after(0.9, width=0.62)],
        (
            "Your 90% intervals hold 98.5% of the time; after recalibration 90.0%, and they are "
            "38% narrower."
        ),
    ),
    "better but too narrow": (
        [before(0.61), after(0.82, width=1.4)],
        (
            "Your 90% intervals hold 61.0% of the time; after recalibration 82.0%, better but "
            "still too narrow, and they are 40% wider."
        ),
    ),
    "better but now too wide": (
        [before(0.61), after(0.96, width=2.4)],
        (
            "Your 90% intervals hold 61.0% of the time; after recalibration 96.0%, better but now "
            "too wide, and they are 2.4 times wider."
        ),
    ),
    "worse": (
        [before(0.898), after(0.78)],
        (
            "Your 90% intervals hold 89.8% of the time (as they should, up to chance); after "
            "recalibration 78.0%, which is worse."
        ),
    ),
    "no better": (
        [before(0.61), after(0.61)],
        "Your 90% intervals hold 61.0% of the time; after recalibration 61.0%, which is no better.",
    ),
    "few rows": (
        [facts(0.75, rows=12)],
        "Your 90% intervals hold 75% of the time: too few rows to tell.",
    ),
    "one row": (
        [facts(1.0, rows=1)],
        "Your 90% intervals hold 100% of the time: too few rows to tell.",
    ),
    "few rows, but bad enough to see": (
        [facts(0.25, rows=12)],
        "Your 90% intervals hold 25% of the time: too narrow.",
    ),
    "off by more than chance, but by nothing": (
        [facts(0.9023, rows=1_000_000)],
        (
            "Your 90% intervals hold 90.2% of the time: as they should; the gap is too small to "
            "matter."
        ),
    ),
    "names of the user": (
        [facts(0.61, "raw"), facts(0.902, "isotonic", width=1.9, recalibrated=True)],
        (
            "With “raw”, 90% intervals hold 61.0% of the time; with “isotonic” 90.2%, and they are "
            "1.9 times wider."
        ),
    ),
    "no intervals": (
        [facts(0.0, width=0.0)],
        "Your forecast is one number per row, without uncertainty.",
    ),
    "no intervals, mended": (
        [before(0.0, width=0.0), after(0.9)],
        (
            "Your forecast is one number per row, without uncertainty; after recalibration it has "
            "90% intervals that hold 90.0% of the time: as they should, up to chance."
        ),
    ),
    "no intervals at all": (
        [before(0.0, width=0.0), after(0.0, width=0.0)],
        (
            "Your forecast is one number per row, without uncertainty; after recalibration it "
            "still is."
        ),
    ),
    "endless": (
        [before(0.7), after(0.96, width=math.inf)],
        (
            "Your 90% intervals hold 70.0% of the time; after recalibration 96.0%, better but now "
            "too wide, and they are infinitely wide."
        ),
    ),
    "another level": (
        [before(0.61, target=0.995), after(0.9955, target=0.995, width=3.0)],
        (
            "Your 99.5% intervals hold 61.0% of the time; after recalibration 99.6%, and they are "
            "3 times wider."
        ),
    ),
}


@pytest.mark.parametrize("given, expected", HEADLINES.values(), ids=HEADLINES)
def test_headline(given, expected):
    assert headline(*given) == expected


CHANCE = {
    "rows": (
        [facts(0.61)],
        "By chance alone, a perfect forecast would show between 89.2% and 90.8% on 5,000 rows.",
    ),
    "rows of the fit": (
        [before(0.61), after(0.9, n_fit=3000)],
        (
            "By chance alone, a forecast recalibrated on 3,000 rows would show between 88.6% and "
            "91.3% on 5,000 rows."
        ),
    ),
    "few": (
        [facts(0.75, rows=12)],
        (
            "On 12 rows a perfect forecast would show anything from 67% to 100%, by chance alone. "
            "A few hundred rows would tell more."
        ),
    ),
    "outside but near": (
        [facts(0.9023, rows=1_000_000)],
        (
            "By chance alone, a perfect forecast would show between 89.9% and 90.1% on 1,000,000 "
            "rows; 90.2% is outside, but the gap is too small to matter."
        ),
    ),
}


@pytest.mark.parametrize("given, expected", CHANCE.values(), ids=CHANCE)
def test_what_chance_does_to_the_share(given, expected):
    assert explanations(tuple(given), None)[0] == expected


LEVELS = {
    "noise": (
        [before(0.61, error=0.11), after(0.9)],
        (
            "Over all levels, from 10% to 90%, observed shares are off by 11 points; after "
            "recalibration by 0.6 points, and chance alone makes about 0.6 points: there is little "
            "or nothing left to win there."
        ),
    ),
    "some left": (
        [facts(0.61, error=0.11)],
        (
            "Over all levels, from 10% to 90%, observed shares are off by 11 points, and chance "
            "alone makes about 0.6 points: the calibration error, which squares them, is 333 times "
            "its floor."
        ),
    ),
    "worse": (
        [before(0.9), after(0.7, error=0.04)],
        (
            "Over all levels, from 10% to 90%, observed shares are off by 0.6 points; after "
            "recalibration by 6.7 points, which is worse, and chance alone makes about 0.6 points: "
            "the calibration error, which squares them, is 121 times its floor."
        ),
    ),
    "small": (
        [facts(0.9, rows=1_000_000, error=6e-6)],
        (
            "Over all levels, from 10% to 90%, observed shares are off by 0.08 points, and chance "
            "alone makes about 0.04 points: the calibration error, which squares them, is 3.6 "
            "times its floor, but the gap is too small to matter."
        ),
    ),
    "few rows": (
        [facts(0.75, rows=12)],
        (
            "Over all levels, from 10% to 90%, observed shares are off by 12 points, and chance "
            "alone makes about 12 points: 12 rows are too few to tell."
        ),
    ),
    "more than chance makes, yet below twice the floor": (
        [facts(0.9, rows=500, error=1.6 * FLOOR / 500)],
        (
            "Over all levels, from 10% to 90%, observed shares are off by 2.4 points, and chance "
            "alone makes about 1.9 points: there is little or nothing left to win there."
        ),
    ),
    "above twice the floor, by chance": (
        [facts(0.9, rows=500, error=2.5 * FLOOR / 500, chance=True)],
        (
            "Over all levels, from 10% to 90%, observed shares are off by 3 points, and chance "
            "alone makes about 1.9 points: more, but chance can explain it (p = 0.11)."
        ),
    ),
    "few rows, and the share is off all the same": (
        [facts(0.57, rows=30, error=1.9 * FLOOR / 30)],
        (
            "Over all levels, from 10% to 90%, observed shares are off by 11 points, and chance "
            "alone makes about 7.8 points: 30 rows are too few to tell more."
        ),
    ),
    "one row": (
        [facts(1.0, rows=1)],
        (
            "Over all levels, from 10% to 90%, observed shares are off by 43 points, and chance "
            "alone makes about 43 points: 1 row is too few to tell."
        ),
    ),
}


@pytest.mark.parametrize("given, expected", LEVELS.values(), ids=LEVELS)
def test_all_levels(given, expected):
    assert explanations(tuple(given), None)[1] == expected


SCORES = {
    "better": (
        [before(0.61), after(0.9, crps=0.8)],
        BETTER,
        "goes from 1.000 to 0.800: 20% better.",
    ),
    "worse": (
        [before(0.61), after(0.9, crps=1.2)],
        WORSE,
        "goes from 1.000 to 1.200: 20% worse.",
    ),
    "noise": (
        [before(0.61), after(0.9, crps=1.01)],
        SAME,
        "goes from 1.000 to 1.010: no more than chance explains.",
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
        "goes from 0.000 to 0.200: worse.",
    ),
}


@pytest.mark.parametrize("given, crps, expected", SCORES.values(), ids=SCORES)
def test_the_score(given, crps, expected):
    start = "CRPS, the score that weighs everything, "
    assert explanations(tuple(given), crps)[2] == start + expected


ADVICE = {
    "one, fine": ([facts(0.903)], None, "There is nothing to recalibrate."),
    "one, bad": (
        [facts(0.61, error=0.11)],
        None,
        "Recalibrate it on rows that the model has not seen, and report on both.",
    ),
    "one, few rows": ([facts(0.75, rows=12)], None, None),
    "mended": ([before(0.61, error=0.11), after(0.9)], BETTER, None),
    "nothing to mend": (
        [before(0.9), after(0.9)],
        SAME,
        "There was nothing to recalibrate: the first was as good as the rows can tell.",
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
            "The score became worse nevertheless: recalibrate on more rows, and on rows that are "
            "like these."
        ),
    ),
    "not there yet": (
        [before(0.61, error=0.1), after(0.85, error=0.01)],
        BETTER,
        "To come closer, recalibrate on more rows, and on rows that are like these.",
    ),
}


@pytest.mark.parametrize("given, crps, expected", ADVICE.values(), ids=ADVICE)
def test_advice(given, crps, expected):
    lines = explanations(tuple(given), crps)[2 if crps is None else 3 :]
    assert lines == ([] if expected is None else [expected])


def ridge(coverage, **more):
    return facts(coverage, "ridge", **more)


def forest(coverage, **more):
    return facts(coverage, "forest", **more)


def test_intervals_of_a_named_forecast_without_uncertainty():
    assert headline(ridge(0.0, width=0.0), forest(0.9, recalibrated=True)) == (
        "“ridge” is one number per row, without uncertainty; with “forest” there are 90% intervals "
        "that hold 90.0% of the time: as they should, up to chance."
    )


@pytest.mark.parametrize(
    "given, found",
    [
        ([ridge(0.6), forest(0.7)], False),
        ([ridge(0.6), forest(0.7, recalibrated=True)], True),
        ([ridge(0.6, recalibrated=True), forest(0.7, recalibrated=True)], False),
        ([facts(0.6, "Before"), facts(0.7, "After")], True),
        ([facts(0.6, "before"), facts(0.7, "after"), ridge(0.6)], False),
    ],
    ids=["two models", "of the second", "of both", "by their names", "three"],
)
def test_before_and_after_is_told_from_models(given, found):
    assert is_recalibration(tuple(given)) is found


ROUGH = (
    "The log score goes from 1.4 to 1.6, which is worse: it looks at the density alone, and an "
    "isotonic map has a rough one. Where densities matter, recalibrate with the method “smooth”."
)


@pytest.mark.parametrize(
    "rough, log_score, crps, said",
    [
        (True, 1.6, BETTER, True),
        (False, 1.6, BETTER, False),  # another map, another reason
        (True, 1.3, BETTER, False),
        (True, 1.6, WORSE, False),
    ],
)
def test_a_rough_density_is_told_where_it_costs_the_log_score(rough, log_score, crps, said):
    first = before(0.61, error=0.11, log_score=1.4)
    last = after(0.9, crps=0.8, log_score=log_score, rough=rough)
    assert (ROUGH in explanations((first, last), crps)) is said
