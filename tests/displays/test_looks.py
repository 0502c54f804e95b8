"""How displays look and behave: colours, sizes, axes, and what a million rows cost."""

import subprocess
import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

import trueline as tl
from trueline.displays import _style

N = 300_000


def all_displays(y, F, G, R):
    """Every kind of picture, by name, as calls that take axes."""
    both = {"before": F, "after": G}
    return {
        "calibration": lambda ax: tl.CalibrationDisplay.from_predictions(y, both, ax=ax),
        "histogram": lambda ax: tl.PITDisplay.from_predictions(y, both, ax=ax),
        "difference": lambda ax: tl.PITDisplay.from_predictions(y, both, kind="difference", ax=ax),
        "band": lambda ax: tl.IntervalDisplay.from_predictions(y, F, kind="band", ax=ax),
        "rows": lambda ax: tl.IntervalDisplay.from_predictions(y, F, ax=ax),
        "bars": lambda ax: tl.IntervalDisplay.from_predictions(y, F, "forecast", ax=ax),
        "numbers": lambda ax: tl.IntervalDisplay.from_predictions(y, F, y, ax=ax),
        "sharpness": lambda ax: tl.SharpnessDisplay.from_predictions(y, both, ax=ax),
        "decomposition": lambda ax: tl.DecompositionDisplay.from_predictions(y, both, ax=ax),
        "comparison": lambda ax: tl.ComparisonDisplay.from_predictions(y, both, ax=ax),
        "map": lambda ax: tl.RecalibrationDisplay.from_recalibrator(R, ax=ax),
    }


NAMES = list(all_displays(None, None, None, None))


@pytest.fixture(params=NAMES)
def draw(request, rows):
    y, F, G = rows
    return all_displays(y, F, G, tl.Isotonic().fit(y, F))[request.param]


@pytest.fixture(scope="module")
def many():
    rng = np.random.default_rng(0)
    y, scale = rng.normal(size=N), rng.uniform(0.4, 0.6, N)
    F = tl.Normal(np.zeros(N), scale)
    R = tl.Isotonic().fit(y, F)
    return all_displays(y, F, R.transform(F), R)


def points_drawn(ax):
    """Corners and points of everything on the axes."""
    lines = [line.get_xydata() for line in ax.lines]
    paths = [path.vertices for artist in ax.collections for path in artist.get_paths()]
    patches = [patch.get_path().vertices for patch in ax.patches]
    return sum(len(points) for points in (*lines, *paths, *patches))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_drawn_does_not_grow_with_the_rows(many, name):
    display = many[name](None)
    # 300 rows: three intervals of two corners each a row and more, a forecast and an outcome.
    assert points_drawn(display.ax_) < 3500


def lightness(colour):
    """L* of CIELAB, 0 to 100."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    luminance = linear @ [0.2126, 0.7152, 0.0722]
    return 116 * np.cbrt(luminance) - 16


@pytest.mark.parametrize("style, paper", [("default", "white"), ("dark_background", "black")])
def test_series_differ_in_greyscale_and_from_the_paper(style, paper):
    with plt.style.context(style):
        _, ax = plt.subplots()
        looks = _style.looks(ax, 4)
    shades = [lightness(look.color) for look in looks]
    gaps = np.abs(np.subtract.outer(shades, shades))[np.triu_indices(4, 1)]
    assert gaps.min() > 10
    assert min(abs(shade - lightness(paper)) for shade in shades) > 25
    for part in ("color", "linestyle", "marker"):
        assert len({str(getattr(look, part)) for look in looks}) == 4


def test_the_last_of_several_looks_like_a_single_one():
    _, ax = plt.subplots()
    assert _style.looks(ax, 3)[-1] == _style.looks(ax, 1)[0]
    assert _style.looks(ax, 1)[0].linestyle == "-"


def test_more_series_than_colours_still_have_a_look():
    _, ax = plt.subplots()
    assert len(_style.looks(ax, 9)) == 9


def test_given_axes_are_used_and_no_figure_is_made(draw):
    figure, ax = plt.subplots()
    before = plt.get_fignums()
    display = draw(ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert plt.get_fignums() == before


def test_without_axes_there_is_one_new_figure(draw):
    before = plt.get_fignums()
    display = draw(None)
    assert len(plt.get_fignums()) == len(before) + 1
    assert display.figure_.axes[0] is display.ax_


def test_axes_of_a_subfigure_know_the_figure(rows):
    y, F, _ = rows
    figure = plt.figure()
    ax = figure.subfigures(1, 2)[0].subplots()
    assert tl.CalibrationDisplay.from_predictions(y, F, ax=ax).figure_ is figure


def test_settings_of_matplotlib_are_left_alone(draw):
    before = dict(plt.rcParams)
    draw(None)
    assert dict(plt.rcParams) == before


@pytest.mark.parametrize("size", [(3.0, 3.4), (11.0, 7.5)])
def test_nothing_is_cut_off_at_any_size(draw, size):
    figure, ax = plt.subplots(figsize=size, dpi=100, layout="constrained")
    draw(ax)
    figure.canvas.draw()
    box = ax.get_tightbbox()
    # Markers at the edge of the axes may reach beyond by less than a pixel or two.
    assert box.x0 > -2
    assert box.y0 > -2
    assert box.x1 < figure.bbox.width + 2
    assert box.y1 < figure.bbox.height + 2


def test_narrow_axes_have_their_legend_below(rows):
    y, F, _ = rows
    figure, ax = plt.subplots(figsize=(3.0, 3.6), layout="constrained")
    display = tl.CalibrationDisplay.from_predictions(y, F, ax=ax)
    figure.canvas.draw()
    label = ax.xaxis.label.get_window_extent()
    assert display.legend_.get_window_extent().y1 <= label.y0 + 1


SENTENCE = ("a model with many words in its name, " * 3)[:97] + " v2"
ONE_WORD = "model_" * 16 + "v2.1"


def within(inner, outer):
    return (
        outer.x0 <= inner.x0
        and inner.x1 <= outer.x1
        and outer.y0 <= inner.y0
        and inner.y1 <= outer.y1
    )


@pytest.mark.parametrize("name", [SENTENCE, ONE_WORD], ids=["words", "one word"])
@pytest.mark.parametrize("size", [None, (3.0, 3.0), (11.0, 7.5)], ids=["default", "300px", "page"])
def test_legends_of_long_names_stay_on_the_figure(rows, name, size):
    y, F, _ = rows
    assert len(name) == 100
    R = tl.Isotonic().fit(y, F)
    for call, args in (
        (tl.CalibrationDisplay.from_predictions, (y, F)),
        (tl.PITDisplay.from_predictions, (y, F)),
        (tl.IntervalDisplay.from_predictions, (y, F)),
        (tl.RecalibrationDisplay.from_recalibrator, (R,)),
    ):
        ax = None
        if size is not None:
            _, ax = plt.subplots(figsize=size, dpi=100, layout="constrained")
        display = call(*args, name=name, ax=ax)
        display.figure_.canvas.draw()
        box = display.legend_.get_window_extent()
        assert within(box, display.figure_.bbox)
        # Above the x axis it stands within the axes, and does not hide labels.
        inside = display.ax_.get_window_extent()
        assert within(box, inside) or box.y1 < inside.y0


def test_the_end_of_a_long_name_is_kept_and_what_was_measured(rows):
    y, F, _ = rows
    for name, end in ((SENTENCE, "v2"), (ONE_WORD, "v2.1")):
        display = tl.CalibrationDisplay.from_predictions(y, F, name=name)
        whole = display.line_.get_label()
        assert whole.startswith(f"{name}: ")
        shown = display.legend_.get_texts()[0].get_text()
        head, tail = shown.split("\n")
        assert head[-1] == "…"
        assert whole.startswith(head[:-1])
        assert whole.endswith(tail)
        assert f"{end}: {display.errors[name]:.2g}" in tail


def test_texts_that_fit_are_left_alone_and_words_are_kept_whole():
    assert _style.fitted("short", 100.0) == "short"
    assert _style.fitted("two lines of words", 60.0) == "two lines of\nwords"
    for room in (0.0, 30.0, 80.0):
        lines = _style.fitted("x" * 200, room).split("\n")
        assert len(lines) == 2
        assert all(len(line) <= 12 or _style.text_width(line) <= room for line in lines)


@pytest.mark.parametrize("size", [(3.0, 3.0), (3.0, 2.5), (6.0, 3.0)])
def test_a_legend_below_has_room_without_a_layout(rows, size):
    y, F, _ = rows
    figure, ax = plt.subplots(figsize=size, dpi=100)
    display = tl.IntervalDisplay.from_predictions(y, F, ax=ax)
    figure.canvas.draw()
    box = display.legend_.get_window_extent()
    assert within(box, figure.bbox)
    assert box.y1 <= ax.xaxis.label.get_window_extent().y0 + 1


def test_axes_among_others_stay_where_they_are(rows):
    y, F, _ = rows
    _, axes = plt.subplots(2, 1, figsize=(3.0, 3.0))
    before = axes[1].get_position().bounds
    tl.IntervalDisplay.from_predictions(y, F, ax=axes[1])
    assert axes[1].get_position().bounds == before


def test_labels_are_broken_where_they_do_not_fit(rows):
    y, F, _ = rows
    _, ax = plt.subplots(figsize=(3.0, 3.0))
    tl.PITDisplay.from_predictions(y, F, ax=ax)
    whole = "where the outcome fell in its forecast (PIT)"
    assert ax.get_xlabel() != whole
    assert ax.get_xlabel().replace("\n", " ") == whole
    assert tl.PITDisplay.from_predictions(y, F).ax_.get_xlabel() == whole


def test_displays_load_matplotlib_only_when_they_draw():
    code = (
        "import sys, trueline as tl\n"
        "tl.CalibrationDisplay, tl.PITDisplay, tl.IntervalDisplay, tl.SharpnessDisplay\n"
        "tl.RecalibrationDisplay(tl.recalibration_map(tl.Scaling().fit([1.0, 3.0], "
        "tl.Normal([0.0, 0.0], 1.0))))\n"
        "assert 'matplotlib' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
