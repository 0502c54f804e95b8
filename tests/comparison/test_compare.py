"""Forecasts of the same rows: differences of the CRPS, their errors, and the winner."""

import json
import sys
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm, t

import trueline as tl
from trueline.comparison import Difference, score_difference

Y = [0.0, 1.0, 2.0]
F = tl.Normal([0.0, 0.0, 0.0], 1.0)
#: Rate at which a difference of nothing is called clear, two sides of two standard errors.
RATE = 2 * norm.sf(2.0)
#: A test that is right fails with this probability.
RARE = 1e-6


@pytest.fixture
def rows():
    """Outcomes, and three forecasts: right, a little too wide, and much too narrow."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=500)
    y = rng.normal(x, 1.0)
    forecasts = {"narrow": (x, 0.3), "wide": (x, 1.1), "right": (x, 1.0)}
    return y, {name: tl.Normal(*args) for name, args in forecasts.items()}


def test_differences_and_their_errors_are_those_of_the_rows(rows):
    y, forecasts = rows
    found = tl.compare(y, forecasts, coverage=0.8)
    assert list(found.evaluations) == ["right", "wide", "narrow"]
    assert (found.winner, found.tied) == ("right", ("wide",))
    best = tl.crps(y, forecasts["right"], reduce=False)
    for name, difference in found.differences.items():
        d = tl.crps(y, forecasts[name], reduce=False) - best
        np.testing.assert_allclose(difference.mean, d.mean(), rtol=1e-12)
        np.testing.assert_allclose(difference.error, d.std(ddof=1) / np.sqrt(500), rtol=1e-12)
        np.testing.assert_allclose(difference.limit, t.isf(norm.sf(2.0) / 3, 499))
    for name, evaluation in found.evaluations.items():
        assert evaluation == tl.evaluate(y, forecasts[name], coverage=0.8)


def test_weights_are_repeated_rows_for_the_means(rows):
    y, forecasts = rows
    w = np.random.default_rng(0).integers(0, 4, 500)
    again = np.repeat(np.arange(500), w)
    weighted = tl.compare(y, forecasts, sample_weight=w)
    repeated = tl.compare(y[again], {name: dist[again] for name, dist in forecasts.items()})
    assert list(weighted.evaluations) == list(repeated.evaluations)
    kish = w.sum() ** 2 / np.sum(w**2)
    for name, found in weighted.differences.items():
        np.testing.assert_allclose(found.mean, repeated.differences[name].mean, rtol=1e-12)
        ratio = np.sqrt((w.sum() - 1.0) / (kish - 1.0))
        np.testing.assert_allclose(found.error, ratio * repeated.differences[name].error)


def test_groups_are_what_varies(rows):
    y, forecasts = rows
    groups = np.random.default_rng(1).integers(0, 20, 500)
    found = tl.compare(y, forecasts, groups=groups)
    d = tl.crps(y, forecasts["wide"], reduce=False) - tl.crps(y, forecasts["right"], reduce=False)
    sums = pd.Series(d - d.mean()).groupby(groups).sum()
    expected = np.sqrt(20 / 19 * np.sum(sums**2)) / 500
    np.testing.assert_allclose(found.differences["wide"].error, expected)
    assert found.n_groups == 20
    np.testing.assert_allclose(found.limit, t.isf(norm.sf(2.0) / 3, 19))
    # One group per row is none, and names of groups need not compare; missing ones are a group.
    names = [None, "x", *range(498)]
    alone = tl.compare(y, forecasts, groups=np.array(names, dtype=object))
    assert alone.n_groups == 500
    expected = tl.compare(y, forecasts).differences["narrow"].error
    np.testing.assert_allclose(alone.differences["narrow"].error, expected)


@pytest.mark.parametrize("clustered", [False, True], ids=["rows", "groups"])
def test_a_difference_of_nothing_is_clear_at_the_stated_rate(clustered):
    # Normal differences follow Student's t law exactly, and so do their sums over equal groups.
    rng, trials, free = np.random.default_rng(2), 4000, 6
    groups = np.repeat(np.arange(free), 3) if clustered else None
    calls = 0
    for _ in range(trials):
        d = rng.normal(size=free)
        if clustered:
            d = np.repeat(d, 3) + np.tile([-1.0, 0.0, 1.0], free)
        calls += score_difference(np.zeros(d.size), d, None, groups=groups).clear
    low, high = binom.interval(1 - RARE, trials, RATE)
    assert low <= calls <= high


def test_choosing_the_winner_does_not_make_chance_a_lead():
    rng, trials, k, n = np.random.default_rng(3), 1500, 6, 40
    clear, naive = 0, 0
    for _ in range(trials):
        scores = rng.normal(size=(k, n))
        order = np.argsort(scores.mean(axis=1))
        first, last = scores[order[0]], scores[order[-1]]
        pairs = k * (k - 1) // 2
        clear += any(score_difference(first, scores[i], None, pairs=pairs).clear for i in order[1:])
        naive += score_difference(first, last, None).clear
    bound = binom.ppf(1 - RARE, trials, RATE)
    assert clear <= bound
    assert naive > 2 * bound  # two standard errors for each would not do


def test_equally_good_forecasts_are_rarely_told_apart():
    rng, trials = np.random.default_rng(5), 400
    clear = 0
    for _ in range(trials):
        y, loc = rng.normal(size=200), np.zeros(200)
        both = {"below": tl.Normal(loc - 0.5, 1.0), "above": tl.Normal(loc + 0.5, 1.0)}
        clear += not tl.compare(y, both).tied
    assert clear <= binom.ppf(1 - RARE, trials, RATE)


def test_scores_without_end():
    endless = tl.StudentT([0.0, 0.0, 0.0], 1.0, 0.4)
    assert tl.crps(Y, endless) == np.inf
    found = tl.compare(Y, {"endless": endless, "point": tl.Point(Y), "finite": F})
    assert list(found.evaluations) == ["point", "finite", "endless"]
    assert found.evaluations["point"].crps == 0.0
    assert found.differences["endless"].mean == np.inf
    assert np.isnan(found.differences["endless"].error)
    assert "endless" not in found.tied
    numbers = found.to_dict()
    assert numbers["forecasts"]["endless"]["crps"] is None
    assert json.loads(json.dumps(numbers, allow_nan=False)) == numbers
    # A row without weight does not count, however bad it is.
    last = tl.StudentT([0.0, 0.0, 0.0], 1.0, [5.0, 9.0, 0.4])
    (difference,) = tl.compare(Y, {"a": F, "b": last}, sample_weight=[1, 1, 0]).differences.values()
    assert np.isfinite([difference.mean, difference.error, difference.limit]).all()
    neither = tl.compare(Y, {"a": endless, "b": endless[[1, 0, 2]]})
    assert neither.tied == ("b",)
    assert neither.conclusion == "No forecast has a finite CRPS, so that there is no winner."
    assert "nan" in repr(neither)


def words(y, forecasts, **kwargs):
    return repr(tl.compare(y, forecasts, **kwargs)).splitlines()[-1]


def test_the_conclusion_says_who_wins_and_how_sure_that_is(rows):
    y, forecasts = rows
    narrow, wide, right = forecasts.values()
    assert words(y, forecasts) == (
        '"right" has the lowest CRPS, but chance explains its lead over "wide": it explains up to '
        '2.4 standard errors. Its lead over "narrow" is clear.'
    )
    found = tl.compare(y, {"narrow": narrow, "right": right})
    ratio = found.differences["narrow"].mean / found.differences["narrow"].error
    assert found.conclusion == (
        f'"right" has the lowest CRPS, and its lead over "narrow" is clear: {ratio:.2g} standard '
        f"errors. Chance explains up to 2 standard errors."
    )
    biased = tl.Normal(right.mean() + 3.0, 1.0)
    assert words(y, {"right": right, "narrow": narrow, "biased": biased}).startswith(
        '"right" has the lowest CRPS, and its lead over every other forecast is clear: at least '
    )
    assert words(y, {"a": right, "b": right}) == "All forecasts have the same CRPS."
    assert words(y[:1], {"a": right[:1], "b": wide[:1]}).endswith(
        " has the lowest CRPS, but there are too few rows to tell whether that is chance."
    )


def test_rounding_is_no_lead(rows):
    y, forecasts = rows
    right = forecasts["right"]
    same = tl.Mixture([right, right])
    found = tl.compare(y, {"right": right, "mixture": same})
    assert next(iter(found.differences.values())).mean == 0.0


def test_the_table_is_one_line_per_forecast(rows):
    y, forecasts = rows
    found = tl.compare(y, forecasts, n_fit={"right": 100}, groups=np.arange(500) % 50)
    title, header, *lines, _ = repr(found).splitlines()
    assert title == "Comparison of 3 forecasts of 500 rows in 50 groups, 90% intervals"
    assert header.split("  ")[-1] == "log score"
    right = found.evaluations["right"]
    assert lines[0].split() == [
        *("right", f"{right.crps:.4f}", f"{right.coverage:.1%}", f"{right.interval_width:.3f}"),
        *(f"{right.interval_score:.3f}", f"{right.calibration_error:.2g}", "/"),
        *(f"{right.calibration_floor:.2g}", f"{right.log_score:.3f}"),
    ]
    assert right.n_fit == 100
    assert found.evaluations["wide"].n_fit is None
    d = found.differences["narrow"]
    assert f"+{d.mean:.4f} ± {d.error:.4f}" in lines[2]
    assert max(map(len, lines)) <= 110


def test_numbers_as_a_frame_and_as_a_dict(rows, monkeypatch):
    y, forecasts = rows
    found = tl.compare(y, forecasts)
    frame = found.to_frame()
    assert list(frame.index) == ["right", "wide", "narrow"]
    assert frame.clearly_worse.tolist() == [False, False, True]
    assert frame.difference["right"] == frame.standard_error["right"] == 0.0
    numbers = found.to_dict()
    assert numbers["forecasts"] == frame.to_dict("index")
    assert {key: numbers[key] for key in ("n", "n_groups", "coverage_target", "winner")} == {
        "n": 500,
        "n_groups": None,
        "coverage_target": 0.9,
        "winner": "right",
    }
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert message(ImportError, found.to_frame) == (
        "Comparison.to_frame needs pandas, which cannot be imported (import of pandas halted; None "
        "in sys.modules). Install it with: pip install pandas"
    )


class Elements(HTMLParser):
    """Names of the elements and attributes of a page, and its text."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.attributes, self.text = set(), set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data):
        self.text += data


def test_names_cannot_bring_markup_or_control_characters():
    hostile = "<script>alert(1)</script>\"'&\x1b[2J\u202e" + "x" * 80
    found = tl.compare(Y, {hostile: F, "b": tl.Point(Y)})
    page = Elements(found._repr_html_())
    assert page.elements == {"div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"}
    assert page.attributes == {"style", "scope"}
    assert "<script>alert(1)</script>" in page.text
    for text in (page.text, repr(found).replace("\n", "")):
        assert text.isprintable() or "\ufffd" in text
        assert "\x1b" not in text
        assert "\u202e" not in text
    assert "color" not in found._repr_html_()


def test_every_forecast_gets_the_same_seed():
    y = np.random.default_rng(0).poisson(2.0, 200)
    draws = np.random.default_rng(1).poisson(2.0, (200, 50)).astype(float)
    a, b = tl.Samples(draws), tl.Samples(draws + 1.0)
    found = tl.compare(y, {"a": a, "b": b}, random_state=3)
    assert found.evaluations["a"] == tl.evaluate(y, a, random_state=3)
    assert found.evaluations["b"] == tl.evaluate(y, b, random_state=3)


def message(error, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    return str(caught.value)


def test_arguments_that_are_not_outcomes_and_named_forecasts():
    swapped = (
        "expected outcomes, shape (n,). Outcomes come first, then the forecasts: "
        'compare(y, {"a": F, "b": G}).'
    )
    assert message(TypeError, tl.compare, {"a": F, "b": F}, Y) == f"y is of type dict; {swapped}"
    assert message(TypeError, tl.compare, F, Y) == f"y is of type Normal; {swapped}"
    expected = 'by name: {"a": F, "b": G}. A single one is scored by trueline.evaluate(y, dist).'
    for given, kind in (([F, F], "list"), (F, "Normal")):
        assert message(TypeError, tl.compare, Y, given) == (
            f"forecasts is of type {kind}; expected two or more forecasts {expected}"
        )
    for given, number in (({}, "0 forecasts"), ({"a": F}, "1 forecast")):
        assert message(ValueError, tl.compare, Y, given) == (
            f"forecasts holds {number}; expected two or more {expected}"
        )
    for name in ("", " ", 1, None):
        assert message(TypeError, tl.compare, Y, {"a": F, name: F}) == (
            f"forecasts has the name {name!r}; expected a text that is not empty."
        )
    assert "forecasts['b'] is of type " in message(TypeError, tl.compare, Y, {"a": F, "b": "x"})


def test_rows_that_do_not_belong_together():
    both = {"a": F, "b": F[:2]}
    assert message(ValueError, tl.compare, Y, both) == (
        "y has 3 rows but the forecast 'b' has 2; expected the same number."
    )
    both = {"a": F, "b": F}
    assert message(ValueError, tl.compare, Y, both, sample_weight=[1.0]) == (
        "sample_weight has 1 rows but y has 3; expected the same number."
    )
    assert message(ValueError, tl.compare, Y, both, groups=["a", "b"]) == (
        "groups has shape (2,) but y has 3 rows; expected one name per row, (3,)."
    )
    assert message(ValueError, tl.compare, Y, both, groups=["a", "a", "a"]) == (
        "groups holds one group; expected two or more, whose differences show what is chance."
    )
    assert message(ValueError, tl.compare, Y, both, groups=[[1], [2, 3], [4]]) == (
        "groups is ragged; expected one name per row."
    )
    assert message(ValueError, tl.compare, Y, both, n_fit={"c": 5}) == (
        "n_fit names 'c'; expected names of forecasts: ['a', 'b']."
    )
    assert message(ValueError, tl.compare, Y, both, coverage=90) == (
        "coverage holds 90.0; expected levels in (0, 1). Write 90% as 0.9."
    )
    labelled = pd.Series(Y, index=["x", "y", "z"])
    other = tl.as_distribution(pd.DataFrame({"mean": Y, "std": 1.0}, index=["z", "y", "x"]))
    assert "the same labels in another order" in message(
        ValueError, tl.compare, labelled, {"a": F, "b": other}
    )


def test_a_difference_without_a_limit_of_its_own():
    assert Difference(2.1, 1.0).clear
    assert not Difference(2.0, 1.0).clear
    assert not Difference(np.nan, np.nan).clear
    assert Difference(-np.inf, np.nan).clear
