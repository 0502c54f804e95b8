"""The plots of the page, as SVG."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from trueline._report._lineup import Lineup
from trueline._report._markup import Markup, join
from trueline._report.plots._atoms import atoms
from trueline._report.plots._calibration import calibration, gauge
from trueline._report.plots._decomposition import decomposition
from trueline._report.plots._histograms import pit, widths
from trueline._report.plots._intervals import choose_rows, intervals
from trueline._validation import FloatArray

__all__ = ["all_plots", "gauge"]


def all_plots(
    y: FloatArray,
    lineup: Lineup,
    columns: dict[str, NDArray[Any]],
    y_name: str,
    unit: str,
) -> Markup:
    """Return every plot, those of one kind side by side."""
    drawn, main = lineup.drawn, lineup.forecasts[lineup.main]
    shown = choose_rows(columns, main)
    summaries = [calibration(lineup.forecasts, main), widths(drawn, unit), *pit(drawn)]
    summaries += decomposition(lineup, unit)
    rows = intervals(y, drawn, shown, y_name, unit)
    return join([*summaries, *rows, *atoms(drawn, y_name, unit)])
