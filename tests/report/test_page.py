"""What stands on the page: the numbers of the diagnostics, in order, in one closed file."""

import base64
import hashlib
import re
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

import trueline as tl
from tests.report.parsing import parse
from trueline._report._numbers import number, percent


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
        assert values == [number(getattr(e, field)) for e in (before, after)]
    (errors,) = (v for label, v in found.items() if label.startswith("calibration error"))
    assert errors == [
        f"{number(e.calibration_error)}floor {number(e.calibration_floor, 3)}"
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
        low, high = curves[0].lower[j], curves[0].upper[j]
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
            assert row["coverage"] == percent(own.coverage, inside.sum())
            assert row["width"] == number(own.interval_width, 3)
            assert row["CRPS"] == number(own.crps, 3)
            assert row["calibration error"] == number(own.calibration_error, 3)
            assert row["its floor"] == number(own.calibration_floor, 3)


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
        r"Your 90% intervals hold \d+% of the time, as they should\.", found.text
    ), found.text


def test_another_coverage_is_used_throughout(tmp_path):
    y, F = calibrated(2000)
    page = write(tmp_path, y, F, coverage=0.5)
    share = percent(tl.coverage(y, F, 0.5), y.size)
    assert page.find("p", "headline")[0].text.startswith(f"Your 50% intervals hold {share} of")
    width = number(tl.evaluate(y, F, coverage=0.5).interval_width)
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
    assert f"Only {n} row" in page.text
    assert "too few to look" in page.text


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
    assert warning.text.startswith("Of “after”: a 0.9 interval needs levels 0.05 to 0.95")


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
        (0.0, 0.5, "Too many outcomes fall at the ends: the forecast is too sure of itself."),
        (0.0, 2.0, "Too many outcomes fall in the middle: the forecast is not sure enough."),
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
