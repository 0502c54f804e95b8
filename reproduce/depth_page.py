"""How the forecasts of depth are written down: a page, a table, and a CSV file.

What the page says is computed from what was found.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduce.depth_images import COVERAGE, DRAWS, LEVELS, Judged, half_width
from reproduce.depth_network import CHECKPOINT, FORECASTS, MOMENTS, SEED, Size
from reproduce.prose import (
    bullet,
    change,
    count,
    listed,
    number,
    paragraph,
    plain,
    share,
)
from reproduce.record import comma_separated, markdown

#: What is compared, and how it is called.
VARIANTS = {"before": "before", "training": "training images", "held": "held-out images"}
#: The paper's calibration errors, on Make3D.
PAPER = (5.50e-2, 2.41e-2)
FACTOR = PAPER[0] / PAPER[1]
#: A 90% interval that holds less or more of the test pixels than this is off.
HOLDS = (0.87, 0.93)

_METHODS = {
    "before": "the forecast as it is, a normal law.",
    "training": "recalibrated by isotonic regression on the pixels of the images that the network "
    "was trained on. That is the paper's protocol.",
    "held": "recalibrated on the pixels of training images that the network was not shown.",
}


class Findings:
    """All that was measured of a forecast.

    Parameters
    ----------
    test : dict of str to Judged
        By variant, the test images.
    fitted : dict of str to Judged
        By variant, the images that its map was fitted on, judged with that map.
    runs : dict of str to ndarray
        Which images stand one after the other in the source, of those of each map and of "test".
    forecast_seconds, recalibrate_seconds : float
        Passes of the network over the test images; both maps and the scores of the test images.
    """

    def __init__(
        self,
        test: dict[str, Judged],
        fitted: dict[str, Judged],
        runs: dict[str, NDArray[np.intp]],
        forecast_seconds: float,
        recalibrate_seconds: float,
    ) -> None:
        self.test = test
        self.fitted = fitted
        self.runs = runs
        self.forecast_seconds = forecast_seconds
        self.recalibrate_seconds = recalibrate_seconds

    @cached_property
    def numbers(self) -> dict[str, dict[str, float]]:
        """Measures by variant."""
        return {variant: self._of(variant) for variant in self.test}

    def _of(self, variant: str) -> dict[str, float]:
        judged = self.test[variant]
        drawn = judged.resampled(seed=SEED)
        error, coverage = drawn.error_interval(), drawn.coverage_interval()
        return {
            "rmse": judged.rmse,
            "relative_error": judged.mean("relative_error"),
            "calibration_error": judged.calibration_error,
            "calibration_error_low": error[0],
            "calibration_error_high": error[1],
            "calibration_floor": self._floor(variant),
            "floor_by_runs": self._floor(variant, by_runs=True),
            "effective_pixels": judged.effective_pixels(),
            "crps": judged.mean("crps"),
            "coverage": judged.mean("inside"),
            "coverage_low": coverage[0],
            "coverage_high": coverage[1],
            "width": judged.mean("width"),
        }

    def _floor(self, variant: str, *, by_runs: bool = False) -> float:
        """Chance in the test images, and in those of the map."""
        parts = [("test", self.test[variant])]
        if variant in self.fitted:
            parts.append((variant, self.fitted[variant]))
        return sum(j.floor(self.runs[name] if by_runs else None) for name, j in parts)

    @cached_property
    def band(self) -> Any:
        """How far chance takes the curve of the held-out map: in its images, and the test's."""
        return half_width(self.test["held"], self.fitted["held"], seed=SEED)

    @property
    def outside(self) -> dict[str, int]:
        """How many levels of a variant's curve lie outside the band."""
        off = {name: np.abs(judged.curve - LEVELS) for name, judged in self.test.items()}
        return {name: int((far > self.band).sum()) for name, far in off.items()}


All = Mapping[str, Findings]


def csv_of(found: All) -> str:
    """Return every number, a line a forecast and variant, with the curve."""
    names = list(found["both"].numbers["before"])
    levels = [f"below_{level:g}" for level in LEVELS]
    heads = ["forecast", "variant", "fit_images", "test_images", "test_pixels", *names, *levels]
    rows = [row for name, one in found.items() for row in _lines(FORECASTS[name], one)]
    return comma_separated(heads, rows)


def _lines(forecast: str, found: Findings) -> list[list[Any]]:
    return [
        [
            forecast,
            VARIANTS[variant],
            len(found.fitted[variant]) if variant in found.fitted else "",
            *(len(judged), int(judged.n.sum())),
            *(plain(value) for value in found.numbers[variant].values()),
            *(plain(value) for value in judged.curve.tolist()),
        ]
        for variant, judged in found.test.items()
    ]


def table(found: All) -> str:
    """Return what is told at the end of a run: a line a forecast and variant."""
    heads = (
        *("", "RMSE", "relative error", "calibration error", "floor", "error / floor"),
        *("CRPS", "90% holds", "width"),
    )
    rows = [
        (
            f"{FORECASTS[name]}, {VARIANTS[variant]}",
            f"{n['rmse']:.4f} m",
            share(n["relative_error"]),
            f"{n['calibration_error']:.3e}",
            f"{n['calibration_floor']:.3e}",
            f"{n['calibration_error'] / n['calibration_floor']:.2f}",
            f"{n['crps']:.4f} m",
            share(n["coverage"]),
            f"{n['width']:.2f} m",
        )
        for name, one in found.items()
        for variant, n in one.numbers.items()
    ]
    return markdown(heads, rows)


def page(found: All, size: Size, made: str) -> str:
    """Return the page: what was done, what it shows, and the numbers."""
    both = found["both"]
    return "\n".join(
        [
            "# Figure 5: the depth of every pixel, forecast by a DenseNet\n",
            f"{made}\n",
            _what_was_done(both, size),
            table(found),
            "![Calibration curves before and after](calibration.png)\n",
            *(part for name, one in found.items() for part in _shows(FORECASTS[name], one)),
            "## Time\n",
            _time(found),
            "## Pixels of one image are wrong together\n",
            _dependence(both),
            "## Four images\n",
            _images(),
            "![Image, depth, forecast, widths and misses of four test images](images.png)\n",
            _kept(),
        ]
    )


def _shows(forecast: str, found: Findings) -> list[str]:
    return [
        f"## {forecast[0].upper()}{forecast[1:]}\n",
        _before(found),
        *(_after(found, variant) for variant in ("training", "held")),
        _knows(found),
        _accuracy(found),
        _curves(found),
        "",
    ]


def _what_was_done(found: Findings, size: Size) -> str:
    test, fitted = found.test["before"], found.fitted
    part = (
        f" Of each part only every {_nth(size.every)} image is used: this is a quick run, and its "
        f"numbers mean nothing."
        if size.every > 1
        else ""
    )
    return "\n".join(
        [
            paragraph(
                f"NYU Depth v2 at 72 x 96, in the official split, in place of Make3D, which cannot "
                f"be had. One fully convolutional DenseNet with dropout 0.2 is trained in "
                f"{count(size.epochs, 'epoch')} on {len(fitted['training']):,} images; "
                f"{len(fitted['held']):,} of the training images are held out"
                f"{_rooms(found)}, and "
                f"{len(test):,} test images with {int(test.n.sum()):,} valid pixels are judged. A "
                f"forecast is made of {size.samples} thinned networks, each of which gives a mean "
                f"and a variance of the noise at every pixel (Kendall and Gal, 2017).{part}"
            ),
            bullet(
                "`dropout and noise`: the normal law with the mean over thinned networks, and the "
                "variance of the mean over them plus the mean variance of the noise."
            ),
            bullet(
                "`dropout alone`: the same without the noise, as the paper computes uncertainty. "
                "It is the network's doubt about the mean, not about a depth."
            ),
            "",
            paragraph("Each of them before and after:"),
            *(bullet(f"`{name}`: {_METHODS[variant]}") for variant, name in VARIANTS.items()),
            "",
            paragraph(
                "RMSE and relative error, the mean of abs(depth - mean) / depth, are those of the "
                "mean of each forecast. The calibration error is Eq. 9 with the levels 0, 0.1, "
                "..., 1, over all pixels. CRPS, width and calibration error: lower is better. In "
                "`depth.csv` is every number and the curves at 21 levels."
            ),
        ]
    )


def _rooms(found: Findings) -> str:
    """How many runs of images are held out."""
    runs = len(np.unique(found.runs["held"][found.fitted["held"].place]))
    return (
        f" in {count(runs, 'run')} of images that stand one after the other in the source, which "
        f"we take to be of rooms that no other run has"
    )


def _before(found: Findings) -> str:
    n = found.numbers["before"]
    return bullet(
        f"As it is, the 90% interval of the network holds {_held(n)} of the test pixels. Its "
        f"calibration error is {n['calibration_error']:.2e} (95% of draws of images "
        f"{n['calibration_error_low']:.2e} to {n['calibration_error_high']:.2e}); the paper's on "
        f"Make3D is {PAPER[0]:.2e}."
    )


def _after(found: Findings, variant: str) -> str:
    before, n = found.numbers["before"], found.numbers[variant]
    factor = before["calibration_error"] / n["calibration_error"]
    fell = f"{factor:.2f} times lower" if factor >= 1 else f"{1 / factor:.2f} times higher"
    reached = "at least" if factor >= FACTOR else "less than"
    low, high = HOLDS
    within = "within" if low <= n["coverage"] <= high else "outside"
    return bullet(
        f"Recalibrated on {VARIANTS[variant]}, the calibration error is "
        f"{n['calibration_error']:.2e} ({n['calibration_error_low']:.2e} to "
        f"{n['calibration_error_high']:.2e}), {fell}: {reached} the paper's "
        f"{FACTOR:.2f} times ({PAPER[0]:.2e} to {PAPER[1]:.2e}). It is "
        f"{n['calibration_error'] / n['calibration_floor']:.2f} times its floor. The 90% interval "
        f"holds {_held(n)} of the pixels, {within} {100 * low:.0f} to {100 * high:.0f}%, and is "
        f"{n['width']:.2f} m wide on average, where it was {before['width']:.2f} m. The CRPS is "
        f"{change(n['crps'] / before['crps'])}."
    )


def _accuracy(found: Findings) -> str:
    before = found.numbers["before"]["rmse"]
    told = listed(_mean_of(found, variant) for variant in found.fitted)
    return bullet(
        f"No map changes the network's mean, whose RMSE is {before:.4f} m. A recalibrated "
        f"forecast has a mean of its own; RMSE by the map: {told}."
    )


def _mean_of(found: Findings, variant: str) -> str:
    before, n = found.numbers["before"]["rmse"], found.numbers[variant]["rmse"]
    same = f"{before:.3g}" == f"{n:.3g}"
    told = "the same to three digits" if same else change(n / before)
    return f"{VARIANTS[variant]} {n:.4f} m ({told})"


def _knows(found: Findings) -> str:
    """How much less the network errs where it was trained, which is what a map then learns."""
    seen, unseen = (found.fitted[name].rmse for name in ("training", "held"))
    return bullet(
        f"On the images that it was trained on the forecasts err by {seen:.2f} m (RMSE, with their "
        f"map), on the held-out ones by {unseen:.2f} m, and on the test images by "
        f"{found.numbers['held']['rmse']:.2f} m. A map of the training images learns the first."
    )


def _held(n: dict[str, float]) -> str:
    return (
        f"{share(n['coverage'])} ({100 * n['coverage_low']:.1f} to {100 * n['coverage_high']:.1f}%)"
    )


def _curves(found: Findings) -> str:
    told = listed(
        f"{VARIANTS[name]} {off} of {LEVELS.size - 2}" for name, off in found.outside.items()
    )
    return bullet(
        f"Grey in the picture is where the whole curve of the map of the held-out images would lie "
        f"in 95% of draws of images, were it the diagonal on average. Levels outside it: {told}."
    )


def _time(found: All) -> str:
    passes = found["both"].forecast_seconds
    seconds = sum(one.recalibrate_seconds for one in found.values())
    ratio = passes / seconds
    return paragraph(
        f"The network took {number(passes)} s to forecast the test images. Fitting both maps of "
        f"both forecasts and scoring the test pixels {len(found) * len(VARIANTS)} times took "
        f"{number(seconds)} s, {_times(ratio)}."
    )


def _times(ratio: float) -> str:
    return f"{ratio:.0f} times less" if ratio >= 1.5 else f"{1 / ratio:.1f} times as much"


def _dependence(found: Findings) -> str:
    held, n = found.test["held"], found.numbers["held"]
    pixels = held.n.sum()
    return "\n".join(
        [
            paragraph(
                "Where the network takes a wall for nearer than it is, it does so at hundreds of "
                "pixels. So chance is a matter of images, not of pixels. With f_ij the share of "
                "image i's pixels whose PIT is at or below level j, and images of one size, the "
                "floor is"
            ),
            "    floor = sum over levels j of Var_i(f_ij) / (number of images)\n",
            paragraph(
                "which is what the calibration error would be if only chance in the images took "
                "the curve off the diagonal; images with fewer valid pixels count less, n_i / "
                "mean(n). A map adds the same of the images that it was fitted on. Intervals in "
                f"brackets hold 95% of {DRAWS:,} draws of as many images with replacement. An "
                "error that is drawn so has chance twice, in the images and in the draws, and is "
                "higher by about the floor."
            ),
            paragraph(
                f"Recalibrated on held-out images, the {int(pixels):,} test pixels have as much "
                f"chance in them as {number(n['effective_pixels'])} independent ones: an image is "
                f"worth {number(n['effective_pixels'] / len(held))} of its pixels. Images of one "
                f"room are not independent either. By runs of images that stand one after the "
                f"other in the source ({len(np.unique(found.runs['test'][held.place]))} in the "
                f"test images) the floor is {n['floor_by_runs']:.2e} rather "
                f"than {n['calibration_floor']:.2e}."
            ),
        ]
    )


def _images() -> str:
    return paragraph(
        "Chosen by a rule: of the test images in the order of their RMSE, those at 20, 40, 60 and "
        "80%. Depth and forecast share one scale, and both widths share one. Where the depth lies "
        f"outside its {100 * COVERAGE:.0f}% interval it is nearer (orange) or further (blue) than "
        "the interval. After is with the map of the held-out images."
    )


def _kept() -> str:
    return paragraph(
        f"The network (`{CHECKPOINT}`) and the mean and standard deviation of every pixel "
        f"(`{MOMENTS}/`, float32) stay in the folder of the run, so that a run that was stopped "
        f"goes on; they are not kept with the project. Neither are the data, whose terms allow "
        f"academic use."
    )


def _nth(n: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd"}
    return f"{n}{'th' if n % 100 in (11, 12, 13) else ends.get(n % 10, 'th')}"
