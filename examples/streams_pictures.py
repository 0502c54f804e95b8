"""Pictures of the experiments on streams."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from streams_electricity import PUBLISHED, Judged
from streams_simulated import ADVERSARY, DEVIATIONS, ROWS, WINDOW, Game

from trueline._files import whole_file

ROLLING = 60
NAMES = {"`Online()`": "Online()", PUBLISHED: "ACI, as published", "fixed map": "fixed map"}
COLOURS = {
    "`Online()`": ("#0B559F", "-", "s"),
    "`Online(coverage=0.9)`": ("#56B4E9", "--", "o"),
    "fixed map": ("#8A8A8A", ":", "D"),
    "ACI, rate 0.005": ("#E8A33D", "-.", "v"),
    "ACI, rate 0.04": ("#D55E00", "-.", "^"),
    PUBLISHED: ("#D55E00", "-.", "^"),
    "DtACI": ("#009E73", "--", "P"),
}
STYLE = {
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#59636e",
    "xtick.color": "#59636e",
    "ytick.color": "#59636e",
    "legend.frameon": False,
}


def electricity(judged: dict[str, Judged], days: np.ndarray, path: Path) -> None:
    """Draw the rolling mean of the width and the rolling coverage over the days of 2019."""
    import matplotlib.pyplot as plt
    from matplotlib import dates
    from matplotlib.ticker import PercentFormatter

    def rolling(x: np.ndarray) -> np.ndarray:
        return np.convolve(x, np.full(ROLLING, 1.0 / ROLLING), "valid")

    with plt.rc_context(STYLE):
        figure, (top, bottom) = plt.subplots(
            2, 1, figsize=(9.0, 6.4), sharex=True, layout="constrained"
        )
        # Two standard errors of the coverage of a perfect forecast over as many days.
        error = 2.0 * np.sqrt(0.09 / ROLLING)
        bottom.axhspan(0.9 - error, min(0.9 + error, 1.0), color="0.5", alpha=0.15, linewidth=0)
        bottom.axhline(0.9, color="0.5", linewidth=1.0)
        for name, label in NAMES.items():
            colour, dashes, _ = COLOURS[name]
            style = {"color": colour, "linestyle": dashes, "linewidth": 2.0, "label": label}
            top.plot(days[ROLLING - 1 :], rolling(judged[name].width), **style)
            bottom.plot(days[ROLLING - 1 :], rolling(judged[name].held.astype(float)), **style)
        top.set_title(f"Mean width of 90% intervals, last {ROLLING} days")
        top.set_ylabel("EUR / MWh")
        top.set_ylim(bottom=0.0)
        top.legend(loc="lower left", ncols=3)
        bottom.set_title(f"Share of outcomes held, last {ROLLING} days")
        bottom.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        bottom.set_yticks(np.arange(0.80, 1.001, 0.05))
        bottom.text(
            days[-1], 0.9 - error, "two standard errors ", ha="right", va="bottom", color="0.4"
        )
        bottom.xaxis.set_major_locator(dates.MonthLocator(bymonth=(1, 3, 5, 7, 9, 11)))
        bottom.xaxis.set_major_formatter(dates.DateFormatter("%b %Y"))
        _write(figure, path)


def simulated(games: Sequence[Game], path: Path) -> None:
    """Draw the coverage of 90% intervals by window, one panel per kind of stream."""
    import matplotlib.pyplot as plt
    from matplotlib.ticker import PercentFormatter

    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(2, 3, figsize=(10.5, 6.6), sharex=True, layout="constrained")
        middles = np.arange(ROWS // WINDOW) * WINDOW + WINDOW / 2
        lines: dict[str, Any] = {}
        for ax, kind in zip(axes.flat, DEVIATIONS, strict=False):
            band = ax.axhspan(0.87, 0.93, color="0.5", alpha=0.15, linewidth=0, label="87% to 93%")
            ax.axhline(0.9, color="0.5", linewidth=1.0)
            for game in games:
                if game.kind == kind and game.player in COLOURS:
                    colour, dashes, marker = COLOURS[game.player]
                    style = {"color": colour, "linestyle": dashes, "marker": marker}
                    label = game.player.strip("`")
                    lines[label] = ax.plot(
                        middles, game.coverage, linewidth=1.8, markersize=5, label=label, **style
                    )[0]
            ax.set_title(kind.capitalize())
            ax.set_xticks(np.arange(ROWS // WINDOW + 1) * WINDOW)
            ax.set_ylim(0.0 if kind == ADVERSARY else 0.38, 1.01)
            ax.yaxis.set_major_formatter(PercentFormatter(1.0))
        for ax in axes[:, 0]:
            ax.set_ylabel("90% intervals hold")
        axes[0, 2].xaxis.set_tick_params(labelbottom=True)
        for ax in (*axes[1, :2], axes[0, 2]):
            ax.set_xlabel(f"row, in windows of {WINDOW}")
        rest = axes[1, 2]
        rest.axis("off")
        rest.legend(handles=[*lines.values(), band], loc="upper left", borderaxespad=0.0)
        _write(figure, path)


def _write(figure: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=160, metadata={"Software": None})
    plt.close(figure)
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as file:
        file.write(drawn.getvalue())
