"""The pictures of the depths: calibration curves, and what the forecasts of four images are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from reproduce.curves import save
from reproduce.depth_images import CONFIDENCE, COVERAGE, LEVELS, Judged
from reproduce.depth_network import FORECASTS
from reproduce.depth_page import VARIANTS, Findings
from trueline.displays import _style
from trueline.distributions import Distribution

# Where the images that are shown stand in the order of their RMSE.
_SHOWN = (0.2, 0.4, 0.6, 0.8)
_COLUMNS = ("image", "depth", "forecast", "width before", "width after")
_MISSES = ("missed before", "missed after")
_NEARER, _FURTHER, _INSIDE, _INVALID = "#D55E00", "#0B559F", "0.88", "1.0"


class Shown(NamedTuple):
    """What is drawn of an image; misses are -1 where it is nearer than the interval, 1 further."""

    image: NDArray[Any]
    depth: NDArray[Any]
    mean: NDArray[Any]
    widths: tuple[NDArray[Any], NDArray[Any]]
    misses: tuple[NDArray[Any], NDArray[Any]]
    held: tuple[float, float]

    @classmethod
    def of(
        cls,
        image: NDArray[Any],
        depth: NDArray[Any],
        mask: NDArray[np.bool_],
        mean: NDArray[Any],
        before: Distribution,
        after: Distribution,
    ) -> Self:
        """Compute it; pixels that are not valid are NaN."""
        valid = np.where(mask, depth, np.nan)
        widths, misses, held = [], [], []
        for dist in (before, after):
            lower, upper = (end.reshape(depth.shape) for end in dist.interval(COVERAGE))
            widths.append(upper - lower)
            side = np.where(mask, 1.0 * (depth > upper) - 1.0 * (depth < lower), np.nan)
            misses.append(side)
            held.append(float((side[mask] == 0).mean()) if mask.any() else np.nan)
        return cls(
            image,
            valid,
            mean,
            (widths[0], widths[1]),
            (misses[0], misses[1]),
            (held[0], held[1]),
        )


def typical(judged: Judged) -> list[int]:
    """Places of the images at 20, 40, 60 and 80% of the order of their RMSE."""
    order = np.argsort(judged.sums["squared_error"] / judged.n, kind="stable")
    ranks = [round(q * (len(order) - 1)) for q in _SHOWN]
    return [int(judged.place[order[rank]]) for rank in dict.fromkeys(ranks)]


def draw_calibration(path: Path, found: Mapping[str, Findings]) -> None:
    """Draw the calibration curves of all forecasts and variants and write them as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.2), layout="constrained", dpi=110)
    for ax, (forecast, one) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
        _curves(ax, one)
        ax.set_title(FORECASTS[forecast])
        band, *curves = ax.get_legend_handles_labels()[0]
        # The corner below the diagonal is free.
        ax.legend(
            handles=[*curves, band],
            loc="lower right",
            frameon=False,
            fontsize="small",
            handlelength=3.2,
        )
    n = int(found["both"].test["before"].n.sum())
    figure.suptitle(f"Depth: calibration on {n:,} test pixels")
    save(figure, path)


def _curves(ax: Any, found: Findings) -> None:
    low, high = (np.clip(LEVELS + side * found.band, 0.0, 1.0) for side in (-1.0, 1.0))
    ax.fill_between(
        LEVELS,
        low,
        high,
        color=_style.MUTED,
        alpha=_style.opacity(ax, 0.25),
        linewidth=0.0,
        label=f"{_style.chance(CONFIDENCE)}, by images",
    )
    ax.plot([0, 1], [0, 1], color=_style.MUTED, linewidth=1.0, zorder=1.5)
    looks = _style.looks(ax, len(VARIANTS))
    for (variant, label), look in zip(VARIANTS.items(), looks, strict=True):
        error = found.numbers[variant]["calibration_error"]
        ax.plot(
            LEVELS,
            found.test[variant].curve,
            label=f"{label}: error {error:.2e}",
            markevery=2,
            **look.marked_line(_style.paper(ax)),
        )
    ax.set(
        xlim=(-0.02, 1.02),
        ylim=(-0.02, 1.02),
        xlabel="expected probability",
        ylabel="observed frequency",
    )
    ax.set_aspect("equal", adjustable="box")
    _style.tidy(ax)


def draw_images(path: Path, shown: Sequence[Shown]) -> None:
    """Draw some images, a row each, and write them as PNG."""
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    columns = len(_COLUMNS) + len(_MISSES)
    figure = Figure(figsize=(2.0 * columns, 1.62 * len(shown) + 1.3), layout="constrained", dpi=110)
    # Scales have a row of their own: taken from the images, these would no longer be in line.
    grid = figure.add_gridspec(len(shown) + 1, columns, height_ratios=[1.0] * len(shown) + [0.07])
    axes = np.array(
        [[figure.add_subplot(grid[i, j]) for j in range(columns)] for i in range(len(shown))]
    )
    depths = np.concatenate([part.ravel() for one in shown for part in (one.depth, one.mean)])
    widths = np.concatenate([part.ravel() for one in shown for part in one.widths])
    # The widest few pixels would leave all others dark.
    metres = {"cmap": "viridis", "vmin": np.nanmin(depths), "vmax": np.nanmax(depths)}
    spread = {"cmap": "magma", "vmin": 0.0, "vmax": np.nanquantile(widths, 0.99)}
    sides: dict[str, Any] = {
        "cmap": ListedColormap([_NEARER, _INSIDE, _FURTHER]).with_extremes(bad=_INVALID),
        "norm": BoundaryNorm([-1.5, -0.5, 0.5, 1.5], 3),
    }
    for row, one in zip(axes, shown, strict=True):
        row[0].imshow(one.image)
        deep = row[1].imshow(one.depth, **metres)
        row[2].imshow(one.mean, **metres)
        for ax, width in zip(row[3:5], one.widths, strict=True):
            wide = ax.imshow(width, **spread)
        for ax, side, held in zip(row[5:], one.misses, one.held, strict=True):
            ax.imshow(side, interpolation="nearest", **sides)
            ax.set_xlabel(f"holds {100 * held:.0f}%", fontsize="small")
    for ax, title in zip(axes[0], (*_COLUMNS, *_MISSES), strict=True):
        ax.set_title(title, fontsize="medium")
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    scales = (
        (deep, slice(1, 3), "metres"),
        (wide, slice(3, 5), "width of the 90% interval, metres"),
    )
    for drawn, place, label in scales:
        figure.colorbar(
            drawn,
            cax=figure.add_subplot(grid[-1, place]),
            orientation="horizontal",
            label=label,
            extend="max" if drawn is wide else "neither",
        )
    kinds = ((_NEARER, "nearer"), (_FURTHER, "further"), (_INSIDE, "inside"))
    figure.legend(
        handles=[Patch(color=colour, label=label) for colour, label in kinds],
        loc="lower right",
        ncols=3,
        frameon=False,
    )
    figure.suptitle("Depth of four test images: the forecast, how sure it is, and where it misses")
    save(figure, path)
