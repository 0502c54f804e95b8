"""The pictures of the depths: calibration curves, and the forecasts of four images."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from reproduce.depth.network import FORECASTS
from reproduce.depth.results import VARIANTS, Results
from reproduce.depth.scores import COVERAGE, LEVELS, Judged
from reproduce.pictures import CHANCE, MUTED, diagonal, looks, save, unit_square
from trueline.distributions import Distribution

# Places of the images that are drawn in the order of their RMSE.
_SHOWN = (0.2, 0.4, 0.6, 0.8)
_COLUMNS = ("forecast", "width before", "width after")
_MISSES = ("missed before", "missed after")
_NEARER, _FURTHER, _INSIDE, _INVALID = "#D55E00", "#0B559F", "0.88", "1.0"


class Shown(NamedTuple):
    """The panels of an image; misses are -1 if the depth is below the interval, 1 if above.

    The photograph and the measured depth are not among them: the terms of the data allow academic
    use, and the picture is published under the licence of this repository.
    """

    mean: NDArray[Any]
    widths: tuple[NDArray[Any], NDArray[Any]]
    misses: tuple[NDArray[Any], NDArray[Any]]
    held: tuple[float, float]

    @classmethod
    def of(
        cls,
        depth: NDArray[Any],
        mask: NDArray[np.bool_],
        mean: NDArray[Any],
        before: Distribution,
        after: Distribution,
    ) -> Self:
        """Compute the panels; misses at invalid pixels are NaN."""
        widths, misses, held = [], [], []
        for dist in (before, after):
            lower, upper = (end.reshape(depth.shape) for end in dist.interval(COVERAGE))
            widths.append(upper - lower)
            side = np.where(mask, 1.0 * (depth > upper) - 1.0 * (depth < lower), np.nan)
            misses.append(side)
            held.append(float((side[mask] == 0).mean()) if mask.any() else np.nan)
        return cls(mean, (widths[0], widths[1]), (misses[0], misses[1]), (held[0], held[1]))


def typical(judged: Judged) -> list[int]:
    """Return the images at 20, 40, 60 and 80% of the order of their RMSE."""
    order = np.argsort(judged.sums["squared_error"] / judged.n, kind="stable")
    ranks = [round(q * (len(order) - 1)) for q in _SHOWN]
    return [int(judged.place[order[rank]]) for rank in dict.fromkeys(ranks)]


def draw_calibration(path: Path, found: Mapping[str, Results]) -> None:
    """Draw the calibration curves of all forecasts and variants and write them as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 5.2), layout="constrained", dpi=110)
    for ax, (forecast, one) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
        _curves(ax, one)
        ax.set_title(FORECASTS[forecast])
        band, *curves = ax.get_legend_handles_labels()[0]
        # There is room in the corner below the diagonal.
        ax.legend(
            handles=[*curves, band],
            loc="lower right",
            frameon=False,
            fontsize="small",
            handlelength=3.2,
        )
    first, *others = found["both"].test("before")
    title = f"Depth: calibration on {int(first.n.sum()):,} test pixels"
    figure.suptitle(f"{title}, means of {1 + len(others)} networks" if others else title)
    save(figure, path)


def _curves(ax: Any, found: Results) -> None:
    low, high = (np.clip(LEVELS + side * found.band, 0.0, 1.0) for side in (-1.0, 1.0))
    ax.fill_between(LEVELS, low, high, color=MUTED, alpha=0.25, linewidth=0.0, label=CHANCE)
    diagonal(ax)
    for (variant, name), look in zip(VARIANTS.items(), looks(len(VARIANTS)), strict=True):
        label = f"{name}: error {found.numbers[variant].mean['calibration_error']:.2e}"
        for judged in found.test(variant):
            ax.plot(LEVELS, judged.curve, color=look.color, linewidth=0.7, alpha=0.5)
        form = look.line() | look.markers()
        ax.plot(LEVELS, found.curve(variant), label=label, markevery=2, **form)
    ax.set(xlabel="expected probability", ylabel="observed frequency")
    unit_square(ax)


def draw_images(path: Path, shown: Sequence[Shown]) -> None:
    """Draw the forecasts of some images, one row each, and write them as PNG."""
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    columns = len(_COLUMNS) + len(_MISSES)
    figure = Figure(figsize=(2.0 * columns, 1.62 * len(shown) + 1.3), layout="constrained", dpi=110)
    # Colour bars have a row of their own, because they would shrink the images beside them.
    grid = figure.add_gridspec(len(shown) + 1, columns, height_ratios=[1.0] * len(shown) + [0.07])
    axes = np.array(
        [[figure.add_subplot(grid[i, j]) for j in range(columns)] for i in range(len(shown))]
    )
    means = np.concatenate([one.mean.ravel() for one in shown])
    widths = np.concatenate([part.ravel() for one in shown for part in one.widths])
    # With the full range, a few wide pixels would leave all others dark.
    metres = {"cmap": "viridis", "vmin": means.min(), "vmax": means.max()}
    spread = {"cmap": "magma", "vmin": 0.0, "vmax": np.nanquantile(widths, 0.99)}
    sides: dict[str, Any] = {
        "cmap": ListedColormap([_NEARER, _INSIDE, _FURTHER]).with_extremes(bad=_INVALID),
        "norm": BoundaryNorm([-1.5, -0.5, 0.5, 1.5], 3),
    }
    for row, one in zip(axes, shown, strict=True):
        deep = row[0].imshow(one.mean, **metres)
        for ax, width in zip(row[1:3], one.widths, strict=True):
            wide = ax.imshow(width, **spread)
        for ax, side, held in zip(row[3:], one.misses, one.held, strict=True):
            ax.imshow(side, interpolation="nearest", **sides)
            ax.set_xlabel(f"holds {100 * held:.0f}%", fontsize="small")
    for ax, title in zip(axes[0], (*_COLUMNS, *_MISSES), strict=True):
        ax.set_title(title, fontsize="medium")
    for ax in axes.flat:
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
    scales = (
        (deep, slice(0, 1), "depth, metres"),
        (wide, slice(1, 3), "width of the 90% interval, metres"),
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
    figure.suptitle("Depths of four test images: forecasts, widths of their intervals, misses")
    save(figure, path)
