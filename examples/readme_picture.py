"""The picture at the top of the README: an over-confident model, before and after.

    python examples/readme_picture.py            # writes docs/images/before-after*.png

The model and its splits are those of ``python -m trueline.demo``. The picture shows the most
typical split: the one whose coverages, before and after, are nearest to the means over all splits.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any

import trueline as tl
from trueline._files import whole_file
from trueline.demo import SPLITS, Split, compare, most_typical, split

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
# Twice the width of a README on GitHub, for sharp screens.
SIZE, DPI, COLOURS = (9.0, 4.4), 200, 64
COVERAGE = (0.5, 0.9)
PATIENTS = 74  # half of the test set; more could not be distinguished

# The colours of GitHub in light and dark mode.
THEMES = {
    "before-after.png": {"paper": "#ffffff", "text": "#1f2328", "muted": "#59636e"},
    "before-after-dark.png": {"paper": "#0d1117", "text": "#f0f6fc", "muted": "#9198a1"},
}


def draw(shown: Split, theme: dict[str, str]) -> Any:
    """Draw the calibration plot on the left and the intervals on the right."""
    import matplotlib.pyplot as plt

    style = {
        "figure.facecolor": theme["paper"],
        "axes.facecolor": theme["paper"],
        "savefig.facecolor": theme["paper"],
        "text.color": theme["text"],
        "axes.labelcolor": theme["text"],
        "axes.edgecolor": theme["muted"],
        "xtick.color": theme["muted"],
        "ytick.color": theme["muted"],
        "legend.labelcolor": theme["text"],
        "font.size": 10.0,
        "axes.titlesize": 11.0,
        "axes.titlelocation": "left",
        "axes.titleweight": "bold",
    }
    with plt.rc_context(style):
        figure = plt.figure(figsize=SIZE, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.06, h_pad=0.06)
        left, right = figure.subfigures(1, 2, width_ratios=[1.0, 1.1], wspace=0.02)
        calibration = left.subplots()
        display = tl.CalibrationDisplay.from_predictions(
            shown.y,
            {"before": shown.before, "after": shown.after},
            n_fit={"after": shown.n_fit},
            legend=False,
            ax=calibration,
        )
        calibration.set_title("A true forecast is a straight line")
        place_legend(display)
        panels = right.subplots(2, 1, sharex=True, sharey=True)
        for ax, name in zip(panels, ("before", "after"), strict=True):
            draw_intervals(ax, shown, name, display.lines_[name].get_color())
        panels[0].set_xlabel("")
    return figure


def place_legend(display: tl.CalibrationDisplay) -> None:
    """Place the legend in the corner that curves of an over-confident model leave free."""
    display.ax_.legend(
        handles=[*display.lines_.values(), display.band_],
        title="calibration error (floor)",
        loc="upper left",
        alignment="left",
        frameon=False,
        fontsize="small",
        title_fontsize="small",
    )


def draw_intervals(ax: Any, shown: Split, name: str, colour: str) -> None:
    """Draw test patients, ordered by forecast."""
    display = tl.IntervalDisplay.from_predictions(
        shown.y,
        getattr(shown, name),
        "forecast",
        coverage=COVERAGE,
        y_name="disease progression",
        max_rows=PATIENTS,
        x_name="every second patient, by forecast",
        color=colour,
        legend=False,
        ax=ax,
    )
    share = f"{display.held:.0%}"
    ax.set_title(f"{name.capitalize()}: 90% intervals hold {share} of the time", color=colour)
    if name == "before":
        ax.legend(
            handles=[display.points_, display.misses_],
            ncols=2,
            loc="upper left",
            frameon=False,
            fontsize="small",
            handlelength=0.8,
            borderaxespad=0.0,
        )


def write(figure: Any, path: Path) -> None:
    """Write the picture; a palette makes it a third of the size."""
    from PIL import Image

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=DPI, metadata={"Software": None})
    picture = Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    with whole_file(path) as file:
        picture.save(file, format="png", optimize=True)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Draw the picture of the README.")
    parser.add_argument("--folder", type=Path, default=IMAGES)
    parser.add_argument("--seed", type=int, help="of the split, instead of the most typical one")
    options = parser.parse_args(arguments)

    import matplotlib as mpl

    mpl.use("Agg")
    seed = options.seed
    if seed is None:
        seed = most_typical([compare(seed) for seed in range(SPLITS)])
    shown = split(seed)
    options.folder.mkdir(parents=True, exist_ok=True)
    for name, theme in THEMES.items():
        write(draw(shown, theme), options.folder / name)
        print(f"{options.folder / name}: split {seed}")


if __name__ == "__main__":
    main(sys.argv[1:])
