"""The report in a browser: it opens from disk, can be used, and shows what it holds.

Needs playwright and a Chromium on the path. Where one of them is absent the tests are skipped,
except in continuous integration (CI=true), where that is a failure.
"""

# ruff: noqa: F811  # fixtures are imported by the names that tests use
import os
import re
import shutil
from itertools import pairwise

import pytest

import trueline as tl
from tests.report.conftest import (  # noqa: F401  # but for one, fixtures
    HOSTILE,
    case,
    hostile_path,
    report_path,
)
from trueline._report._numbers import number, percent

PHONE, DESKTOP = {"width": 360, "height": 740}, {"width": 1280, "height": 900}
# Nothing that the browser would like to know from the network is part of the page.
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="module")
def browser():
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        absent("playwright is not installed: pip install playwright")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        absent("there is no Chromium on the path: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield chromium
        chromium.close()


def absent(reason):
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def open_page(browser):
    """Open a file; whatever it complains of, or asks the network for, fails the test at the end."""
    contexts, faults = [], []

    def open_(path, size=DESKTOP, **options):
        context = browser.new_context(viewport=size, offline=True, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: faults.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.on("dialog", lambda dialog: faults.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: requests.append(request.url))
        page.on("requestfailed", lambda request: failed.append((request.url, request.failure)))
        requests, failed = [], []
        page.goto(path.as_uri())
        page.asked, page.failed = requests, failed
        return page

    open_.faults = faults
    yield open_
    for context in contexts:
        context.close()
    assert faults == []


def texts(locator):
    return [text.strip() for text in locator.all_inner_texts()]


def test_it_opens_from_disk_and_asks_for_nothing(open_page, report_path):
    page = open_page(report_path)
    assert page.title() == "Diabetes"
    assert page.locator("figure").count() == 7
    page.locator(".theme").click()
    page.locator(".plot").first.hover()
    page.wait_for_load_state("networkidle")
    asked = [url for url in page.asked if not url.startswith("data:")]
    assert asked == [report_path.as_uri()]


def test_the_buttons_show_one_forecast_or_both(open_page, report_path):
    page = open_page(report_path)
    both, before, after = page.locator(".choice button").all()

    def shown(slot):
        found = [
            e.is_visible() for e in page.locator(f"figure .series.{slot}, figure.{slot}").all()
        ]
        assert found
        assert len(set(found)) == 1
        return found[0]

    def pressed():
        return [b.get_attribute("aria-pressed") for b in (both, before, after)]

    assert texts(page.locator(".choice button")) == ["Both", "before", "after"]
    assert (shown("before"), shown("after")) == (True, True)
    assert pressed() == ["true", "false", "false"]
    before.click()
    assert (shown("before"), shown("after")) == (True, False)
    assert pressed() == ["false", "true", "false"]
    # by keyboard: Tab to the next button, then the space bar
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    assert (shown("before"), shown("after")) == (False, True)
    assert pressed() == ["false", "false", "true"]
    both.focus()
    page.keyboard.press("Enter")
    assert (shown("before"), shown("after")) == (True, True)


def curve_text(case, j, names=("before", "after")):
    """What the plot of the curve should say at the level j / 10."""
    n = case.y.size
    curves = {name: tl.calibration_curve(case.y, case.forecasts[name]) for name in names}
    shares = [f"{name} {percent(c.observed[j], n)}" for name, c in curves.items()]
    *_, c = curves.values()  # the band of chance is that of the last
    limits = f"by chance {percent(c.lower[j], n)} to {percent(c.upper[j], n)}"
    return " · ".join([f"promised {10 * j}%", *shares, limits])


def test_pointing_at_the_curve_tells_its_values(open_page, report_path, case):
    page = open_page(report_path)
    figure = page.locator("figure").first
    readout = figure.locator(".readout")
    assert readout.inner_text() == ""
    figure.locator(".hit").nth(2).hover()
    assert readout.inner_text() == curve_text(case, 3)
    page.locator(".choice button", has_text="after").click()
    assert readout.inner_text() == ""
    figure.locator(".hit").nth(2).hover()
    assert readout.inner_text() == curve_text(case, 3, ["after"])
    page.locator("h1").hover()
    assert readout.inner_text() == ""


def test_arrow_keys_tell_the_same(open_page, report_path, case):
    page = open_page(report_path)
    figure = page.locator("figure").first
    readout = figure.locator(".readout")
    page.locator(".choice button").last.focus()
    page.keyboard.press("Tab")
    assert figure.locator(".plot").evaluate("plot => plot === document.activeElement")
    for key, j in [
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("ArrowLeft", 1),
        ("End", 9),
        ("ArrowRight", 9),
        ("Home", 1),
    ]:
        page.keyboard.press(key)
        assert readout.inner_text() == curve_text(case, j)
    assert figure.locator(".hit.on").count() == 1
    page.keyboard.press("Escape")
    assert readout.inner_text() == ""
    assert readout.get_attribute("aria-live") == "polite"
    page.keyboard.press("ArrowLeft")
    assert readout.inner_text() == curve_text(case, 9)


def test_rows_tell_their_interval_and_outcome(open_page, report_path, case):
    page = open_page(report_path)
    figure = page.locator("figure.after").last
    figure.locator(".plot").focus()
    page.keyboard.press("End")  # the row with the highest forecast
    row = case.G.median().argmax()
    lower, upper = case.G.interval(0.9)
    inside = lower[row] <= case.y[row] <= upper[row]
    assert figure.locator(".readout").inner_text() == (
        f"row {row + 1} · {number(lower[row])} to {number(upper[row])} points · "
        f"outcome {number(case.y[row])}, {'inside' if inside else 'missed'}"
    )


@pytest.mark.parametrize("plot", range(7))
def test_every_plot_tells_values_when_pointed_at(open_page, report_path, plot):
    page = open_page(report_path)
    figure = page.locator("figure").nth(plot)
    figure.scroll_into_view_if_needed()
    places = figure.locator(".catch")
    box = places.nth(places.count() // 2).bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    assert re.search(r"\d", figure.locator(".readout").inner_text())


# Elements with text of their own that is cut off, lies outside the page, or over its frame.
CUT = """() => {
  const width = document.documentElement.clientWidth;
  const faults = [];
  for (const element of document.body.querySelectorAll("*")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || element.closest("script, title, .unseen, [hidden], thead")) continue;
    if (!element.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(element);
    const box = range.getBoundingClientRect();
    const drawing = element.closest(".plot svg");
    const frame = drawing ? drawing.getBoundingClientRect() : {left: 0, right: width};
    const clipped = element.scrollWidth > element.clientWidth + 1
      && getComputedStyle(element).overflowX !== "visible";
    if (box.left < frame.left - 1 || box.right > frame.right + 1 || clipped)
      faults.push([element.tagName, element.textContent, box.left, box.right]);
  }
  return faults;
}"""
# Texts in a drawing that lie on each other.
OVERLAPS = """() => {
  const faults = [];
  for (const drawing of document.querySelectorAll(".plot svg, .gauge")) {
    const boxes = [...drawing.querySelectorAll("text")].map((t) => [t.textContent, t.getBBox()]);
    boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
      const beside = p.x >= q.x + q.width || q.x >= p.x + p.width;
      const above = p.y >= q.y + q.height || q.y >= p.y + p.height;
      if (!beside && !above) faults.push([a, b]);
    }));
  }
  return faults;
}"""


@pytest.mark.parametrize("size", [PHONE, {"width": 700, "height": 900}, DESKTOP], ids=str)
@pytest.mark.parametrize("report", ["report_path", "hostile_path"])
def test_no_text_is_cut(open_page, request, report, size):
    page = open_page(request.getfixturevalue(report), size)
    page.locator("details").first.evaluate("details => { details.open = true; }")
    for plot in page.locator(".plot").all():
        plot.focus()
        page.keyboard.press("End")  # with the values shown
    whole = page.evaluate("document.documentElement.scrollWidth")
    assert whole <= size["width"]
    assert page.evaluate(CUT) == []
    if report == "report_path":
        assert page.evaluate(OVERLAPS) == []


def test_markup_of_the_user_shows_as_text(open_page, hostile_path):
    page = open_page(hostile_path)
    assert page.locator("h1").inner_text() == HOSTILE
    assert page.title() == HOSTILE
    titles = texts(page.locator(".cards .title"))
    assert any(title.startswith(HOSTILE + "\n") for title in titles)  # a group
    assert any(title.startswith(HOSTILE + ": ") for title in titles)  # a column
    assert page.locator(".choice button").nth(2).inner_text() == HOSTILE  # the second best
    page.locator(".plot").first.focus()
    page.keyboard.press("ArrowRight")
    assert HOSTILE in page.locator(".readout").first.inner_text()
    assert page.evaluate("document.scripts.length") == 1


def test_nothing_but_its_own_script_can_run_or_load(open_page, report_path):
    page = open_page(report_path)
    ran = page.evaluate(
        """() => new Promise((done) => {
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          const image = new Image();
          image.onload = image.onerror = () => done(window.ran === true);
          image.src = "https://example.org/x.png";
        })"""
    )
    assert ran is False
    blocked = [f for f in open_page.faults if "Content Security Policy" in f]
    assert len(blocked) == len(open_page.faults) == 2
    open_page.faults.clear()
    assert page.failed == [("https://example.org/x.png", "csp")]  # stopped before it was sent


def test_without_scripts_everything_is_there(open_page, report_path, case):
    page = open_page(report_path, java_script_enabled=False)
    assert all(f.is_visible() for f in page.locator("figure").all())
    assert all(s.is_visible() for s in page.locator("figure .series").all())
    assert all(t.is_visible() for t in page.locator("section > table").all())
    assert not any(b.is_visible() for b in page.locator("button").all())
    page.locator("summary").click()
    assert page.locator("details table").is_visible()
    # The browser itself shows the values of what is pointed at.
    title = page.locator("figure").first.locator(".hit title").nth(2).text_content()
    assert title.replace("\n", " · ") == curve_text(case, 3)


def colours(page):
    return page.evaluate(
        "() => [document.body, document.querySelector('h1')].map((e, i) => "
        "getComputedStyle(e)[i ? 'color' : 'backgroundColor'])"
    )


def brightness(colour):
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3])


def test_light_and_dark_by_the_system_and_by_the_button(open_page, report_path):
    light = open_page(report_path, color_scheme="light")
    dark = open_page(report_path, color_scheme="dark")
    for page, bright in ((light, True), (dark, False)):
        ground, ink = map(brightness, colours(page))
        assert (ground > ink) is bright
        button = page.locator(".theme")
        assert button.get_attribute("aria-pressed") == str(not bright).lower()
    assert colours(light) != colours(dark)
    was = colours(dark)
    light.locator(".theme").focus()
    light.keyboard.press("Enter")
    assert colours(light) == was
    assert light.locator(".theme").get_attribute("aria-pressed") == "true"
    light.keyboard.press("Enter")
    assert colours(light) != was


# Contrast of every text with what lies behind it, WCAG 2.2.
CONTRAST = """() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const linear = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] > 0) return c;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.body.querySelectorAll("*")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.closest("script, title") || !e.checkVisibility()) continue;
    const style = getComputedStyle(e);
    const [a, b] = [light(parse(e.closest("svg") ? style.fill : style.color)), light(behind(e))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.tagName, e.textContent]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(open_page, report_path, scheme):
    page = open_page(report_path, color_scheme=scheme, reduced_motion="reduce")
    page.locator(".choice button").nth(1).click()
    found = page.evaluate(CONTRAST)
    assert len(found) > 100
    assert [f for f in found if f[0] < 4.5] == []


def test_tab_reaches_all_that_can_be_used_and_shows_where_it_is(open_page, report_path):
    page = open_page(report_path)
    expected = page.locator("button, .plot, summary")
    assert expected.count() == 12  # light or dark, three choices, seven plots, numbers of one
    for element in expected.all():
        page.keyboard.press("Tab")
        assert element.evaluate("e => e === document.activeElement")
        assert element.evaluate("e => getComputedStyle(e).outlineStyle") == "solid"


def test_it_prints_on_white_with_everything_but_the_buttons(open_page, report_path):
    page = open_page(report_path, color_scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    ground, ink = map(brightness, colours(page))
    assert ground == 3 * 255
    assert ink < 150
    assert not any(b.is_visible() for b in page.locator("button").all())
    assert all(f.is_visible() for f in page.locator("figure").all())
    assert all(t.is_visible() for t in page.locator("section > table").all())
    # Plots that stand side by side stay on one page.
    assert page.locator("figure").first.evaluate("f => getComputedStyle(f).breakInside") == "avoid"
    pdf = page.pdf(format="A4", prefer_css_page_size=False)
    assert pdf.startswith(b"%PDF")
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
    assert 3 <= pages <= 12


def test_plots_side_by_side_are_level(open_page, report_path):
    """Captions differ in length; what is below them begins at the same height."""
    page = open_page(report_path)
    tops = [p.bounding_box()["y"] for p in page.locator(".plot").all()]
    assert [a == pytest.approx(b, abs=0.5) for a, b in pairwise(tops)][::2] == [True] * 3


def test_screen_readers_find_names(open_page, report_path):
    page = open_page(report_path)
    tree = page.locator("main").aria_snapshot()
    assert '- heading "The plots" [level=2]' in tree
    assert '- button "Both" [pressed]' in tree
    assert re.search(r'- group "What was promised, and what happened\. Arrow keys', tree)
    assert re.search(r'- img "Calibration curve, observed for promised share\.', tree)
    assert '- table "All measures"' in tree
    assert '- rowheader "under 50' in tree
