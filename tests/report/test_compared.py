"""Models beside each other: the best by CRPS first, and how sure that is."""

import math

import numpy as np
import pytest

import trueline as tl
from tests.report.parsing import parse
from tests.report.test_words import facts
from trueline._report._compared import findings, headline
from trueline._report._numbers import measured
from trueline._report._style import MOST_FORECASTS, STYLES
from trueline.comparison import Difference, score_difference

CLEAR, UNCLEAR, NONE = Difference(0.2, 0.01), Difference(0.01, 0.01), Difference(0.0, 0.0)


def model(name, crps=1.0, coverage=0.9, **more):
    return facts(coverage, name, crps=crps, **more)


HEADLINES = {
    "two, clear": (
        [model("forest", 0.8), model("ridge")],
        [CLEAR],
        "“forest” forecasts better than “ridge”: its CRPS is 20% lower.",
    ),
    "two, by a little": (
        [model("forest", 0.993), model("ridge")],
        [Difference(0.007, 0.001)],
        "“forest” forecasts better than “ridge”: its CRPS is 0.7% lower.",
    ),
    "two, by chance": (
        [model("forest", 0.99), model("ridge")],
        [UNCLEAR],
        (
            "“forest” and “ridge” forecast equally well, as far as the rows can tell: chance "
            "explains the difference of their CRPS."
        ),
    ),
    "three, clear": (
        [model("a", 0.8), model("b"), model("c")],
        [CLEAR, CLEAR],
        "“a” forecasts best of 3 models: its CRPS is 20% lower than that of “b”, the next.",
    ),
    "six, some by chance": (
        [model(name) for name in "abcdef"],
        [UNCLEAR, UNCLEAR, UNCLEAR, UNCLEAR, UNCLEAR],
        "No best model among 6: chance explains the differences of their CRPS.",
    ),
    "seven, most by chance": (
        [model(name) for name in "abcdefg"],
        [*[UNCLEAR] * 5, CLEAR],
        (
            "“a” has the lowest CRPS of 7 models, but chance explains its lead over “b”, “c”, “d” "
            "and 2 more."
        ),
    ),
    "one that is endless": (
        [model("a"), model("b", math.inf)],
        [Difference(math.inf, math.nan)],
        "“a” forecasts better than “b”: its CRPS is finite.",
    ),
    "a long name": (
        [model("a network with seven layers, week 12", 0.8), model("ridge")],
        [CLEAR],
        "“a network with … week 12” forecasts better than “ridge”: its CRPS is 20% lower.",
    ),
}


@pytest.mark.parametrize("given, differences, expected", HEADLINES.values(), ids=HEADLINES)
def test_headline(given, differences, expected):
    assert headline(given, differences) == expected


SCORES = {
    "clear": (
        CLEAR,
        (
            "is 0.800 with “a” and 1.000 with “b”: a difference of 0.200 with a standard error of "
            "0.010, which is clear."
        ),
    ),
    "by chance": (
        UNCLEAR,
        (
            "is 0.800 with “a” and 1.000 with “b”: a difference of 0.010 with a standard error of "
            "0.010, which chance explains."
        ),
    ),
    "the same": (NONE, "is 0.8 with both “a” and “b”."),
    "endless": (Difference(math.inf, math.nan), "is 0.8 with “a” and 1 with “b”."),
}


@pytest.mark.parametrize("difference, expected", SCORES.values(), ids=SCORES)
def test_the_score_is_told_before_the_coverage(difference, expected):
    found = findings([model("a", 0.8), model("b")], [difference])
    assert found[0] == f"CRPS, the score that weighs everything, {expected}"
    assert found[1] == "The 90% intervals hold with “a” and “b”."


COVERAGES = {
    "both": ([0.9, 0.9], {}, ["The 90% intervals hold with “m0” and “m1”."]),
    "one": ([0.6, 0.9], {}, ["The 90% intervals hold with “m1”, not with “m0”."]),
    "neither": ([0.6, 0.99], {}, ["The 90% intervals do not hold with “m0” and “m1”."]),
    "all of three": ([0.9, 0.9, 0.9], {}, ["The 90% intervals hold with all models."]),
    "none of three": ([0.6, 0.7, 0.6], {}, ["The 90% intervals hold with none of the models."]),
    "few rows": (
        [0.75, 0.25, 0.9],
        {"rows": 12},
        [
            "The 90% intervals do not hold with “m1”.",
            "The rows are too few to tell whether 90% intervals hold with “m0” and “m2”.",
        ],
    ),
}


@pytest.mark.parametrize("coverages, more, expected", COVERAGES.values(), ids=COVERAGES)
def test_with_which_models_intervals_hold(coverages, more, expected):
    given = [model(f"m{i}", coverage=c, **more) for i, c in enumerate(coverages)]
    found = findings(given, [UNCLEAR] * (len(given) - 1))
    assert found[1 : 1 + len(expected)] == expected
    assert "intervals" not in found[1 + len(expected)]


def test_a_model_without_intervals_is_named_as_such():
    given = [model("a"), model("b", coverage=0.0, width=0.0)]
    assert findings(given, [CLEAR])[1:3] == [
        "The 90% intervals hold with “a”.",
        "Without intervals, because one number per row: “b”.",
    ]


@pytest.fixture(scope="module")
def rows():
    """Outcomes, and twelve forecasts of them that are worse and worse, in another order."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=1000)
    means = {i: 0.15 * i * rng.normal(size=1000) for i in range(MOST_FORECASTS)}
    order = rng.permutation(MOST_FORECASTS)
    return y, {f"model {i}": tl.Normal(means[i], np.hypot(1.0, 0.15 * i)) for i in order}


def write(tmp_path, y, forecasts, **options):
    path = tl.report(y, forecasts, tmp_path / "report.html", **options)
    return path.stat().st_size, parse(path.read_text(encoding="utf-8"))


def results(page):
    (table,) = page.find("table", "results")
    return {b.find("th")[0].text: [c.text for c in b.find("td")] for b in table.find("tbody")}


@pytest.mark.parametrize("n", [2, 3, MOST_FORECASTS])
def test_results_are_sorted_by_crps_with_differences_to_the_best(tmp_path, rows, n):
    y, forecasts = rows
    given = {name: forecasts[name] for name in list(forecasts)[:n]}
    scores = {name: tl.crps(y, F, reduce=False) for name, F in given.items()}
    ranked = sorted(scores, key=lambda name: scores[name].mean())
    size, page = write(tmp_path, y, given, x=y, groups=np.arange(1000) % 5)
    found = results(page)
    assert list(found) == ranked
    assert found[ranked[0]][1] == "the best"
    for name in ranked[1:]:
        d = score_difference(scores[ranked[0]], scores[name], None)
        text = f"{measured(d.mean, d.error)} ± {measured(d.error, d.error)}"
        assert found[name][1] == (text if d.clear else text + "by chance")
    assert page.find("p", "headline")[0].text.startswith(f"“{ranked[0]}”")
    assert page.find("h1")[0].text == "Which forecast is best?"
    assert size < 1_000_000


def test_all_curves_and_the_plots_of_the_best(tmp_path, rows):
    y, forecasts = rows
    _, page = write(tmp_path, y, forecasts)
    ranked = list(results(page))
    curves, *others = page.find("figure")
    assert {f"m{i}" for i in range(1, 13)} == {
        p.attributes["class"].split()[1] for p in curves.find("path", "line")
    }
    assert [f.find("h3")[0].text for f in others if "fell" in f.find("h3")[0].text] == [
        f"Where outcomes fell: {name}" for name in ranked[:4]
    ]
    (note,) = page.find("p", "left-out")
    assert note.text == (
        f"The calibration curve and the parts of the CRPS have all 12 models. The other plots, "
        f"and the tables by group and segment, have the 4 with the lowest CRPS: "
        f"{', '.join(f'“{m}”' for m in ranked[:4])}. "
        f"For the others, make a report of their own."
    )
    assert len(page.find("table", "many")[0].find("tbody")) == 12


def test_each_of_twelve_models_has_its_own_dashes_and_its_own_colour_or_mark():
    styles = [STYLES[f"m{i}"] for i in range(1, MOST_FORECASTS + 1)]
    assert len({style.dash for style in styles}) == len(styles)
    assert len({(style.colour, style.hollow) for style in styles}) == len(styles)
    assert len({(style.shape, style.hollow) for style in styles}) == len(styles)


@pytest.mark.parametrize("recalibrator", [tl.Isotonic(), tl.Grouped(tl.Scaling())], ids=repr)
@pytest.mark.parametrize("discrete", [False, True])
def test_a_map_of_the_same_forecast_is_before_and_after_and_of_another_is_not(
    tmp_path, recalibrator, discrete
):
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    y = np.round(2 * y) if discrete else y
    F, other = tl.Normal(np.zeros(400), 1.0), tl.Normal(0.1 * rng.normal(size=400), 1.0)
    groups = {"groups": np.arange(400) % 2} if isinstance(recalibrator, tl.Grouped) else {}
    G = recalibrator.fit(y, F, **groups).transform(F, **groups)
    again = tl.Normal(np.zeros(400), 1.0)  # the same numbers, another object
    for first, headline_is_about_coverage in ((again, True), (other, False)):
        _, page = write(tmp_path, y, {"raw": first, "mapped": G})
        (found,) = page.find("p", "headline")
        assert ("90% intervals hold" in found.text) is headline_is_about_coverage
        assert bool(page.find("table", "results")) is not headline_is_about_coverage


def test_two_models_are_compared_without_a_word_on_recalibration(tmp_path):
    y = np.random.default_rng(0).normal(size=500)
    forecasts = {"ridge": tl.Normal(np.zeros(500), 0.5), "forest": tl.Normal(np.zeros(500), 0.6)}
    _, page = write(tmp_path, y, forecasts)
    findings_ = page.find("ul", "findings")[0].text
    assert "The 90% intervals do not hold with “forest” and “ridge”." in findings_
    assert "ecalibrat" not in page.find("p", "headline")[0].text + findings_


def test_a_score_that_is_endless_comes_last(tmp_path):
    y = np.random.default_rng(0).normal(size=100)
    forecasts = {"cauchy": tl.StudentT(np.zeros(100), 1.0, df=0.5), "normal": tl.Normal(0 * y, 1.0)}
    _, page = write(tmp_path, y, forecasts)
    assert results(page)["cauchy"][:2] == ["∞", "∞"]
    assert list(results(page)) == ["normal", "cauchy"]


def test_segments_are_those_of_the_best_by_its_own_width(tmp_path):
    rng = np.random.default_rng(0)
    scale = np.exp(rng.normal(size=2000))
    y = rng.normal(size=2000) * scale
    forecasts = {"flat": tl.Normal(0 * y, y.std()), "own": tl.Normal(0.0 * y, scale * 0.7)}
    _, page = write(tmp_path, y, forecasts)
    (section,) = (s for s in page.find("section") if s.attributes["aria-labelledby"] == "segments")
    assert "the predicted median of" not in section.text  # all medians are 0
    assert "each a part of the width of the 90% interval of “own”" in section.text
    assert all(
        title.children[0].startswith("width of the 90% interval of “own”: ")
        for title in section.find("th", "title")
    )


def test_the_page_and_compare_say_the_same(tmp_path):
    # The lead is above two standard errors and below the 2.4 that three models need.
    rng = np.random.default_rng(0)
    y, zero = rng.normal(size=1000), np.zeros(1000)
    models = {"a": tl.Normal(zero, 1.0), "b": tl.Normal(zero - 0.24, 1.0), "c": tl.Normal(zero, 3)}
    found = tl.compare(y, models)
    lead = found.differences["b"]
    assert 2.0 < lead.mean / lead.error < lead.limit
    assert found.tied == ("b",)
    page = tl.report(y, models, tmp_path / "report.html").read_text("utf-8")
    assert "but chance explains its lead over “b”." in page
    assert "Bars reach 2.4 standard errors" in page
