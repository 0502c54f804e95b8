"""Figures 1, 3 and 4 of the paper on simulated data, drawn by the scripts of the documentation."""

from __future__ import annotations

import runpy
from pathlib import Path

from reproduce import ExperimentError
from reproduce.pages import folder
from reproduce.pictures import require_matplotlib, save

SCRIPTS = Path(__file__).parents[1] / "docs" / "figures"


def draw(number: int, output: Path | None) -> str:
    """Draw a figure, write it as PNG, and return a sentence that says where it is."""
    require_matplotlib(f"reproduce figure{number}")
    script = SCRIPTS / f"figure{number}.py"
    if not script.is_file():
        raise ExperimentError(f"{script} does not exist: run this in a checkout of the repository.")
    import matplotlib

    matplotlib.use("Agg")  # no window opens
    target = folder(output or Path("results") / "figures") / f"figure{number}.png"
    save(runpy.run_path(str(script))["fig"], target)
    return f"Figure {number} of the paper, on simulated data, is in {target}."
