"""What stands on the page: the numbers of the diagnostics, in order, in one closed file."""

import base64
import hashlib
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import norm

import trueline as tl
from tests.report.parsing import parse
from trueline._report._numbers import measured, number, percent
from trueline._report._segments import Search
from trueline._report._tables import _origin


def table(page, class_):
    """Cells of the table of this class, row by row."""
    (found,) = page.find("table", class_)
    return [[c.text for c in row.find() if c.tag in {"td", "th"}] for row in found.find("tr")]


def write(tmp_path, y, forecasts, **options):
    path = tl.report(y, forecasts, tmp_path / "report.html", **options)
    return parse(path.read_text(encoding="utf-8"))


def calibrated(n, scale=1.0, seed=0):
    y = np.random.default_rng(seed).normal(size=n)
    return y, tl.Normal(np.zeros(n), scale)


def test_it_returns_the_path_of_one_file(tmp_path, case):
    path = tl.report(case.y, case.forecasts, str(tmp_path / "page.html"))
    assert path == tmp_path / "page.html"
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    assert path.stat().st_size < 1_000_000


def test_a_second_report_replaces_the_first(tmp_path):
    y, F = calibrated(50)
    for title in ("first", "second"):
        page = write(tmp_path, y, F, title=title)
        assert [h.text for h in page.find("h1")] == [title]


def test_a_hundred_thousand_rows_make_no_larger_a_file(tmp_path):
    sizes = []
    for n in (1_000, 100_000):
        y, F = calibrated(n, 0.5)
        path = tl.report(
            y,
            {"before": F, "after": tl.Normal(np.zeros(n), 1.0)},
            tmp_path / "r.html",
            x=y,
            groups=np.arange(n) % 97,
        )
        sizes.append(path.stat().st_size)
    assert abs(sizes[1] / sizes[0] - 1) < 0.05


def test_words_come_first_then_plots_tables_and_how_it_was_made(report_page):
    (main,) = report_page.find("main")
    assert main.find()[0].find("p")[0].attributes["class"] == "headline"
    assert [h.text for h in main.find("h2")] == [
        "The plots",
        "The measures",
        "Group by group",
        "Is it true given x?",
        "Where it is worst",
        "How this was made",
    ]


def test_the_headline_tells_coverage_and_width(report_page, case):
    before, after = (tl.evaluate(case.y, dist) for dist in case.forecasts.values())
    ratio = after.interval_width / before.interval_width
    (found,) = report_page.find("p", "headline")
    assert found.text == (
        f"Your 90% intervals hold {before.coverage:.0%} of the time; after recalibration "
        f"{after.coverage:.0%}, and they are {ratio:.1f} times wider."
    )
    (shares,) = report_page.find("dl", "shares")
    assert [d.text for d in shares.find("dd")] == [
        f"{before.coverage:.0%}",
        f"{after.coverage:.0%}",
        "90%",
    ]


def test_measures_are_those_of_evaluate(report_page, case):
    before = tl.evaluate(case.y, case.F)
    after = tl.evaluate(case.y, case.G, n_fit=case.n_fit)
    rows = {row[0]: row[1:] for row in table(report_page, "measures")}
    found = {name: values for label, values in rows.items() for name in [label.split(".")[0]]}
    assert rows.pop("measure") == ["before", "after"]
    assert len(rows) == 11
    for start, field in [("CRPS", "crps"), ("RMSE", "rmse"), ("ENCE", "ence"), ("MAE", "mae")]:
        (values,) = (v for label, v in found.items() if label.startswith(start))
        assert values == [number(getattr(e, field), 3, zeros=True) for e in (before, after)]
    (errors,) = (v for label, v in found.items() if label.startswith("calibration error"))
    assert errors == [
        f"{measured(e.calibration_error, e.calibration_floor)}floor "
        f"{measured(e.calibration_floor, e.calibration_floor)}"
        for e in (before, after)
    ]
    assert before.calibration_floor < after.calibration_floor  # the fit adds to it


def test_the_curve_is_that_of_calibration_curve(report_page, case):
    rows = table(report_page, "small")
    assert rows[0] == ["promised", "before", "after", "by chance"]
    curves = [tl.calibration_curve(case.y, dist) for dist in case.forecasts.values()]
    for j, row in enumerate(rows[1:], start=1):
        assert row[0] == f"{10 * j}%"
        assert row[1:3] == [percent(c.observed[j], case.y.size) for c in curves]
        low, high = curves[-1].lower[j], curves[-1].upper[j]
        assert row[3] == f"{percent(low, case.y.size)} to {percent(high, case.y.size)}"
    assert len(rows) == 10


def test_misses_are_marked(report_page, case):
    for dist, slot in ((case.F, "before"), (case.G, "after")):
        figures = [f for f in report_page.find("figure", slot) if f.find(class_="reach")]
        (drawn,) = figures
        (plot,) = drawn.find("div", "plot")
        lower, upper = dist.interval(0.9)
        missed = int(((case.y < lower) | (case.y > upper)).sum())
        assert len(plot.find("circle", "miss")) == missed
        assert len(plot.find("line", "reach")) == case.y.size
        assert f"{case.y.size} rows: {missed} missed, 15 expected." in drawn.text


def test_groups_have_their_own_evaluation(report_page, case):
    cards = report_page.find("table", "cards")[0]
    found = {}
    for body in cards.find("tbody"):
        name = body.find("th", "title")[0].children[0]
        found[name] = [
            {c.attributes["data-label"]: c.text for c in row.find("td")} for row in body.find("tr")
        ]
    assert set(found) == {"under 50", "50 and over"}
    for name, rows in found.items():
        inside = case.groups == name
        for row, dist, n_fit in zip(rows, (case.F, case.G), (None, case.n_fit), strict=True):
            own = tl.evaluate(case.y[inside], dist[inside], n_fit=n_fit)
            floor = own.calibration_floor
            assert row["coverage"] == percent(own.coverage, case.y.size)
            assert row["width"] == number(own.interval_width, 3, zeros=True)
            assert row["CRPS"] == number(own.crps, 3, zeros=True)
            assert row["calibration error"] == measured(own.calibration_error, floor)
            assert row["its floor"] == measured(floor, floor)


def test_it_says_how_it_was_made(report_page, case):
    (made,) = report_page.find("dl", "made")
    terms = [d.text for d in made.find("dt")]
    values = dict(zip(terms, (d.text for d in made.find("dd")), strict=True))
    assert values["Rows"] == str(case.y.size)
    assert values["Seed"] == "0"
    assert values["Recalibrated on"] == "150 rows"
    assert f"trueline {tl.__version__}, numpy {np.__version__}, scipy" in values["With"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d \S+", values["Made on"])
    assert values["Call"] == (
        'trueline.report(y, {"before": ..., "after": ...}, "report.html", x=..., groups=..., '
        "coverage=0.9, n_fit=150, random_state=0)"
    )


def test_nothing_is_loaded_and_only_its_own_script_may_run(report_path):
    text = report_path.read_text(encoding="utf-8")
    page = parse(text)
    (policy,) = (
        m.attributes["content"]
        for m in page.find("meta")
        if m.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (element,) = page.find(tag)
        digest = base64.b64encode(hashlib.sha256(element.text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    # The policy stands before whatever it rules.
    assert text.index("Content-Security-Policy") < text.index("<style")
    addresses = set(re.findall(r"[a-z]+://[^\s\"'<>]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name, never asked for
    assert not re.search(r"\b(src|srcset|action|formaction|style|on\w+)=", text)
    assert [link.attributes["href"] for link in page.find("link")] == ["data:,"]


def test_screen_readers_are_told_what_is_drawn(report_page):
    for drawing in report_page.find("svg"):
        role, label = (drawing.attributes.get(name) for name in ("role", "aria-label"))
        hidden = drawing.attributes.get("aria-hidden") == "true"
        nested = "overflow" in drawing.attributes
        assert hidden or nested or (role == "img" and len(label) > 30)
    labels = [s.attributes["aria-label"] for s in report_page.find("svg") if "role" in s.attributes]
    assert sum("Calibration curve" in label for label in labels) == 1
    assert sum("PIT histogram" in label for label in labels) == 2
    assert sum("Intervals and outcomes" in label for label in labels) == 2
    assert all(re.search(r"\d", label) for label in labels)


def test_tables_have_captions_and_heads_with_a_scope(report_page):
    for found in report_page.find("table"):
        assert len(found.find("caption")) == 1
        assert found.find("th")
        assert all(
            h.attributes.get("scope") in {"col", "row", "rowgroup"} for h in found.find("th")
        )


def test_the_outline_has_no_gaps(report_page):
    levels = [int(e.tag[1]) for e in report_page.find() if re.fullmatch("h[1-6]", e.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in pairwise(levels))
    (html,) = report_page.find("html")
    assert html.attributes["lang"] == "en"


def test_one_forecast_needs_no_choice(tmp_path):
    y, F = calibrated(500)
    page = write(tmp_path, y, F)
    assert not page.find("div", "choice")
    assert not page.find(class_="before")
    assert len(page.find("figure")) == 4
    (found,) = page.find("p", "headline")
    assert re.fullmatch(
        r"Your 90% intervals hold \d+% of the time: as they should, up to chance\.", found.text
    ), found.text


def test_another_coverage_is_used_throughout(tmp_path):
    y, F = calibrated(2000)
    page = write(tmp_path, y, F, coverage=0.5)
    share = percent(tl.coverage(y, F, 0.5), y.size)
    assert page.find("p", "headline")[0].text.startswith(f"Your 50% intervals hold {share} of")
    width = number(tl.evaluate(y, F, coverage=0.5).interval_width, 3, zeros=True)
    assert any(width in row for row in table(page, "measures"))


def test_weights_count_and_rows_of_weight_zero_do_not(tmp_path):
    rng = np.random.default_rng(0)
    y, F = calibrated(400, 0.7)
    w = rng.random(400) * (np.arange(400) % 2)
    group = np.where(np.arange(400) % 2, rng.choice(["a", "b"], 400), "never")
    page = write(tmp_path, y, F, sample_weight=w, groups=group, x=y)
    share = percent(tl.coverage(y, F, sample_weight=w), 100)
    assert page.find("p", "headline")[0].text.startswith(f"Your 90% intervals hold {share} of")
    assert "never" not in page.text
    (made,) = page.find("dl", "made")
    assert "200, worth 15" in made.text  # Kish's number: 0.75 of them for uniform weights
    cards = page.find("table", "cards")[0]
    for body in cards.find("tbody"):
        name, (row, *_) = body.find("th", "title")[0].children[0], body.find("tr")
        own = group == name
        expected = tl.coverage(y[own], F[own], sample_weight=w[own])
        assert row.find("td")[0].text == percent(expected, own.sum())


@pytest.mark.parametrize(
    "forecast",
    [
        tl.Point(np.zeros(200)),
        tl.Samples(np.random.default_rng(1).normal(size=(200, 20))),
        tl.Quantiles([0.05, 0.5, 0.95], np.tile([-1.6, 0.0, 1.6], (200, 1))),
        tl.Mixture([tl.Normal(np.zeros(200), 1.0), tl.Normal(np.ones(200), 2.0)]),
        tl.StudentT(np.zeros(200), 1.0, df=1),  # no mean, no variance
        tl.Normal(np.zeros(200), 1e-300),
        tl.Normal(np.zeros(200), 1e300),
        tl.Normal(np.full(200, 1e12), np.geomspace(1e-6, 1e6, 200)),
    ],
    ids=repr,
)
def test_every_kind_of_forecast_has_a_page_without_broken_numbers(tmp_path, forecast):
    y = np.random.default_rng(0).normal(size=200)
    page = write(tmp_path, y, {"before": forecast, "after": tl.Normal(np.zeros(200), 1.0)}, x=y)
    drawn = [v for e in page.find() for v in e.attributes.values() if v]
    assert not any(re.search(r"(?<![a-z])(nan|inf)(?![a-z])", v, re.IGNORECASE) for v in drawn)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_very_few_rows_have_a_page(tmp_path, n):
    y, F = calibrated(n)
    page = write(tmp_path, y, {"before": F, "after": F}, x=y, groups=["a"] * n)
    assert f"On {n} row" in page.text
    assert "No part of the data has 20 rows or more." in page.text


def test_outcomes_that_are_all_alike_have_a_page(tmp_path):
    page = write(tmp_path, np.ones(30), tl.Normal(np.ones(30), 1.0))
    assert "hold 100% of the time" in page.text


def test_intervals_that_the_calibration_rows_do_not_support_are_told(tmp_path):
    y, F = calibrated(60)
    G = tl.Isotonic().fit(y[:10], F[:10]).transform(F)
    with pytest.warns(tl.CalibrationWarning, match="after: a 0.9 interval needs levels") as caught:
        page = write(tmp_path, y, {"before": F, "after": G}, n_fit=10)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    (warning,) = page.find("p", "warning")
    assert warning.text.startswith("“after”: a 0.9 interval needs levels 0.05 to 0.95")


def test_rows_lie_along_a_single_column_of_numbers_or_times(tmp_path):
    y, F = calibrated(300)
    for x, name in [
        ({"height": y[::-1].copy()}, "height"),
        ({"day": np.datetime64("2020-01-01") + np.arange(300)}, "day"),
    ]:
        page = write(tmp_path, y, F, x=x)
        assert page.find("p", "across")[-1].text == name
    # 200 of 300 rows, in the order of the days
    rows = [int(t.text.split()[1]) for t in page.find("title") if t.text.startswith("row ")]
    assert len(rows) == 200
    assert rows == sorted(rows)


def test_it_is_the_same_page_twice(tmp_path):
    """But for the time of day."""
    rng = np.random.default_rng(0)
    draws = tl.Samples(rng.normal(size=(100, 10)))  # has steps, so chance is drawn
    y = rng.normal(size=100)
    texts = []
    for _ in range(2):
        path = tl.report(y, draws, tmp_path / "report.html")
        texts.append(re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "", path.read_text(encoding="utf-8")))
    assert texts[0] == texts[1]


def test_the_function_is_not_hidden_by_its_package():
    """A module of the same name would replace it in the namespace once it is imported."""
    code = "import trueline._report, trueline as tl; print(callable(tl.report))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


def test_it_needs_no_plotting_library():
    code = (
        "import sys, tempfile, numpy as np, trueline as tl\n"
        "with tempfile.TemporaryDirectory() as d:\n"
        "    tl.report(np.zeros(5), tl.Normal(np.zeros(5), 1.0), d + '/r.html')\n"
        "print(*{'matplotlib', 'jinja2', 'pandas', 'sklearn'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    "loc, scale, reading",
    [
        (0.0, 1.0, "Even, up to chance, as it should be."),
        (0.0, 0.5, "Too many outcomes fall at the ends: the forecast is too narrow."),
        (0.0, 2.0, "Too many outcomes fall in the middle: the forecast is too wide."),
        (1.0, 1.0, "Too many outcomes fall at one end: the forecast is too high."),
        (-1.0, 1.0, "Too many outcomes fall at one end: the forecast is too low."),
    ],
)
def test_the_histogram_is_read_out(tmp_path, loc, scale, reading):
    y, _ = calibrated(2000, seed=1)  # with seed 0 it happens to leave its 95% band
    page = write(tmp_path, y, tl.Normal(np.full(2000, loc), scale))
    assert page.find("figure")[2].find("p")[0].text == reading


def test_many_rows_make_no_fault_of_a_trifle(tmp_path):
    y, F = calibrated(200_000, 1.01)
    page = write(tmp_path, y, F)
    assert page.find("figure")[2].find("p")[0].text == "Nearly even, as it should be."
    assert "There is nothing to recalibrate." in page.text


def readings(page):
    """What is said above each PIT histogram."""
    return [
        f.find("p")[0].text
        for f in page.find("figure")
        if f.find("h3")[0].text.startswith("Where outcomes fell")
    ]


@pytest.mark.parametrize("n, rows", [(1, "1 row"), (30, "30 rows")])
def test_few_rows_are_not_said_to_be_even(tmp_path, n, rows):
    y = norm.ppf((np.arange(n) + 0.5) / n)  # as even as can be
    page = write(tmp_path, y, tl.Normal(np.zeros(n), 1.0))
    assert readings(page) == [
        f"Too few rows to tell: on {rows}, chance alone could make these bars."
    ]


def test_a_bar_above_the_band_is_told_however_few_the_rows(tmp_path):
    """5 of 15 outcomes in one bar of twenty; the curve, which is cumulative, stays in its band."""
    y = norm.ppf(np.concatenate([np.full(5, 0.42), np.linspace(0.03, 0.97, 10)]))
    F = tl.Normal(np.zeros(15), 1.0)
    page = write(tmp_path, y, F)
    assert tl.calibration_curve(y, F).inside
    assert readings(page) == ["Not quite even: 1 of 20 bars lies outside the grey band."]


def test_groups_of_one_row_cannot_be_said_to_hold(tmp_path):
    y, F = calibrated(500, 0.1)
    page = write(tmp_path, y, F, groups=np.arange(500))
    section = next(s for s in page.find("section") if s.attributes["aria-labelledby"] == "groups")
    assert section.find("p")[0].text == (
        "500 groups were tested; all have too few rows to tell: chance alone could move the "
        "coverage to 100% or over more than 15 points. The ranges of chance hold for all of them "
        "together, 19 times out of 20 (Bonferroni). The least likely by chance first. The last "
        "column is about the 90% intervals alone; the calibration error is about all levels, and "
        "good below twice its floor."
    )
    assert {td.text for td in section.find("td", "verdict")} == {"too few rows to tell"}
    assert section.find("p")[-1].text == "470 more groups, more likely by chance, not shown."


def test_small_groups_are_counted_beside_those_that_are_off(tmp_path):
    y, F = calibrated(601, 0.5)
    group = np.where(np.arange(601) < 300, "a", "b")
    group[-1] = ""
    page = write(tmp_path, y, F, groups=group)
    assert (
        "3 groups were tested; 2 are off by more than chance explains, and 1 has too few rows "
        "to tell: chance alone could move the coverage to 100% or over more than 15 points."
    ) in page.text
    cards = page.find("table", "cards")[0]
    assert [h.text for h in cards.find("th", "title")][-1] == "(empty)1 row"
    # What is said there is said of the 90% intervals, not of the calibration error.
    assert [h.text for h in cards.find("th")][7] == "90% intervals"
    assert "verdict" not in [h.text for h in cards.find("th")]


def test_it_says_which_segments_are_shown_and_where_they_come_from(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.normal(size=1000)
    F = tl.Normal(rng.normal(size=1000) * 0.01, np.linspace(0.99, 1.01, 1000))
    page = write(tmp_path, y, F, x={"a": rng.normal(size=1000), "": rng.normal(size=1000)})
    section = next(s for s in page.find("section") if s.attributes["aria-labelledby"] == "segments")
    text = section.find("p")[0].text
    assert text.startswith(
        "40 segments of 20 rows or more, each a part of one of 4 columns (2 of x, the predicted "
        "median and the width of the 90% interval), were tested; all have too few rows to tell: "
        "chance alone could move the coverage to 100% or over more than 15 points."
    )
    assert text.endswith("19 times out of 20 (Bonferroni).")
    assert not section.find("table")  # what may or may not hold is no finding


@pytest.mark.parametrize(
    "options, said",
    [({}, "with “mapped”"), ({"n_fit": 40}, "a forecast recalibrated on 40 rows")],
)
def test_a_recalibrated_forecast_is_known_by_its_kind_or_by_n_fit(tmp_path, options, said):
    y, F = calibrated(1000, 0.5)
    G = tl.Scaling().fit(y[:40] * 0.3, F[:40]).transform(F)
    page = write(tmp_path, y, {"raw": F, "mapped": G}, **options)
    findings = page.find("ul", "findings")[0].text
    assert said in findings
    assert "ecalibrate on more rows, and on rows that are like these." in findings


def made(page):
    (found,) = page.find("dl", "made")
    return dict(zip(*([d.text for d in found.find(t)] for t in ("dt", "dd")), strict=True))


def test_kinds_and_numbers_are_in_plain_words(tmp_path):
    y, F = calibrated(40)
    grouped = tl.Grouped(tl.Scaling()).fit(y, F, groups=np.arange(40) % 2)
    G = grouped.transform(F, groups=np.arange(40) % 2)
    page = write(tmp_path, y, {"before": F, "after": G}, x=y, n_fit=1)
    assert made(page)["Forecasts"] == "before (normal), after (recalibrated)"
    assert made(page)["Recalibrated on"] == "1 row"
    assert made(page)["Data"] == "y, x (1 column)"
    page = write(tmp_path, y[:1], {"q": tl.Quantiles([0.1, 0.9], [[0, 1]]), "p": tl.Point([0.0])})
    assert made(page)["Forecasts"] == "q (quantiles), p (one number per row)"
    assert not re.search(r"\b1 (rows|columns|groups)\b", page.text)


@pytest.mark.parametrize("with_spread", [False, True])
def test_intervals_without_width_are_a_spike_at_zero(tmp_path, with_spread):
    y, F = calibrated(50)
    forecasts = {"before": tl.Point(np.zeros(50)), "after": F}
    page = write(tmp_path, y, forecasts if with_spread else forecasts["before"])
    figure = page.find("figure")[1]
    assert figure.find("h3")[0].text == "How wide the 90% intervals are"
    slot = "before" if with_spread else "after"
    (series,) = [g for g in figure.find("g", "series") if slot in g.attributes["class"]]
    assert not [p for p in series.find("path") if "line" in p.attributes["class"]]
    axis = figure.find("line", "base")[0].attributes["x1"]
    for drawn in series.find("line"):
        assert drawn.attributes["x1"] == drawn.attributes["x2"] == axis
    assert len(series.find("line", "line")) == 1


def test_the_roughness_of_an_isotonic_density_is_told(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.normal(0.5, size=1200)
    F = tl.Normal(np.zeros(1200), 1.0)
    for recalibrator, said in ((tl.Isotonic(), True), (tl.Scaling(), False)):
        G = recalibrator.fit(y[:200], F[:200]).transform(F[200:])
        page = write(tmp_path, y[200:], {"before": F[200:], "after": G}, n_fit=200)
        findings = page.find("ul", "findings")[0].text
        assert ("an isotonic map has a rough one" in findings) is said
        worse = tl.log_score(y[200:], G) > tl.log_score(y[200:], F[200:])
        assert worse is said


@pytest.mark.parametrize(
    "given, added, expected",
    [
        (0, ("predicted width",), "each a part of the predicted width"),
        (1, (), "each a part of one column of x"),
        (3, (), "each a part of one of 3 columns of x"),
        (
            0,
            ("predicted value", "predicted width"),
            "each a part of one of 2 columns (the predicted value and the predicted width)",
        ),
        (
            1,
            ("predicted value",),
            "each a part of one of 2 columns (1 of x and the predicted value)",
        ),
    ],
)
def test_columns_of_the_user_are_told_from_ours(given, added, expected):
    assert _origin(Search([], 1, 0, 0, given, added)) == expected


def test_below_one_half_it_is_the_other_end_that_chance_reaches(tmp_path):
    y, F = calibrated(4)
    page = write(tmp_path, y, F, groups=["a"] * 4, coverage=0.2)
    assert (
        "1 group was tested; it has too few rows to tell: chance alone could move the coverage "
        "to 0% or over more than 15 points."
    ) in page.text


def test_many_rows_that_are_all_alike_are_not_said_to_be_few(tmp_path):
    y, F = calibrated(500)
    page = write(tmp_path, y, F)
    assert "No column divides the rows into parts of 20 or more" in page.text


def atoms_panel(tmp_path, y, forecasts, **options):
    """The figures that show single values."""
    page = parse(tl.report(y, forecasts, tmp_path / "r.html", **options).read_text("utf-8"))
    return page, [f for f in page.find("figure") if "How often" in f.text]


def test_counts_are_shown_value_by_value(tmp_path):
    values = np.random.default_rng(0).poisson(1.0, size=(400, 21)).astype(float)
    y, F = values[:, 0], tl.Samples(values[:, 1:])
    page, (panel,) = atoms_panel(tmp_path, y, F, unit="visits")
    atoms = tl.evaluate(y, F).atoms
    assert len(panel.find("rect", "bar")) == len(panel.find("circle", "seen")) - 1 == len(atoms)
    first = (
        f"forecast {percent(atoms[0].forecast, 1e4)} · observed {percent(atoms[0].observed, 1e4)}"
    )
    assert first in panel.find("g", "hit")[0].text
    # Widths of intervals of counts have one bar each, and rows have room for their bars.
    assert len(page.find("line", "reach")) == 60
    # The reason why intervals hold more than promised is among the findings.
    assert "because an interval contains an atom" in page.find("ul", "findings")[0].text


def test_rain_has_a_bar_for_zero(tmp_path):
    rng = np.random.default_rng(0)
    levels = np.arange(1, 20) / 20
    wet = rng.uniform(0.2, 0.8, size=(400, 1))
    y = np.where(rng.random((400, 1)) < wet, rng.exponential(size=(400, 1)), 0.0)[:, 0]
    F = tl.Quantiles(levels, -np.log1p(-np.clip((levels - 1 + wet) / wet, 0.0, 1.0)))
    _, (panel,) = atoms_panel(tmp_path, y, {"normal": tl.Normal(y, 1.0), "rain": F}, unit="mm")
    assert panel.find("h3")[0].text == "How often 0 mm occurs: rain"
    assert len(panel.find("rect", "bar")) == 1


def test_continuous_outcomes_have_no_panel_of_values(tmp_path, case):
    assert atoms_panel(tmp_path, case.y, case.F)[1] == []


def test_intervals_beyond_the_frame_have_arrows_and_are_counted(tmp_path):
    """Two of 200 intervals are so wide that the frame leaves them out, one of them above alone."""
    y, scale = np.random.default_rng(0).normal(size=200), np.ones(200)
    scale[50], loc = 1e4, np.zeros(200)
    lower, upper = np.full(200, -2.0), np.full(200, 2.0)
    lower[50], upper[50], upper[120] = -1e4, 1e4, 1e3
    F = tl.Quantiles([0.05, 0.95], np.column_stack([lower, upper]))
    page = write(tmp_path, y, F)
    figure = page.find("figure")[-1]
    assert len(figure.find("path", "beyond")) == 3
    assert "2 intervals reach beyond the frame: see the arrows." in figure.find("p")[0].text
    calm = write(tmp_path, y, tl.Normal(loc, 1.0)).find("figure")[-1]
    assert not calm.find("path", "beyond")
    assert "frame" not in calm.find("p")[0].text


def test_segments_with_too_few_rows_are_one_line_beside_those_that_tell(tmp_path):
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "rare"], size=3000, p=[0.5, 0.48, 0.02])
    y = rng.normal(size=3000) * np.where(kind == "b", 2.0, 1.0)
    page = write(tmp_path, y, tl.Normal(np.zeros(3000), 1.0), x={"kind": kind})
    (section,) = (s for s in page.find("section") if s.attributes["aria-labelledby"] == "segments")
    assert "and 1 has too few rows to tell" in section.find("p")[0].text
    assert section.find("p")[0].text.endswith(
        "Shown here: the 2 least likely by chance of those with enough rows, in that order."
    )
    assert [t.children[0] for t in section.find("th", "title")] == ["kind: b", "kind: a"]


def test_shares_of_the_same_page_have_the_same_decimals(tmp_path):
    """Groups of 300 and 2,700 rows; one of them holds 91.0%, which was 91% beside 90.3%."""
    y = np.where(np.arange(3000) % 100 < 91, 0.0, 9.0)
    y[:300][np.flatnonzero(y[:300] > 0)[:3]] = 0.0
    page = write(
        tmp_path,
        y,
        tl.Normal(np.zeros(3000), 1.0),
        groups=np.where(np.arange(3000) < 300, "s", "l"),
    )
    cards = page.find("table", "cards")[0]
    assert {row.find("td")[0].text for row in cards.find("tbody")} == {"91.0%", "92.0%"}
    assert "hold 91.1% of the time" in page.find("p", "headline")[0].text


def test_the_button_for_dark_mode_says_what_it_switches(report_page):
    (button,) = report_page.find("button", "theme")
    assert button.text == "Dark mode"
    assert button.attributes["aria-pressed"] == "false"
    (state,) = button.find("span", "state")  # ": on" or ": off", by the script
    assert state.attributes["aria-hidden"] == "true"
