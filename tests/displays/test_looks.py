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
        "band": lambda ax: tl.IntervalDisplay.from_predictions(y, F, ax=ax),
        "bars": lambda ax: tl.IntervalDisplay.from_predictions(y, F, "forecast", ax=ax),
        "numbers": lambda ax: tl.IntervalDisplay.from_predictions(y, F, y, ax=ax),
        "sharpness": lambda ax: tl.SharpnessDisplay.from_predictions(y, both, ax=ax),
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
    assert display.figure_.axes == [display.ax_]


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
