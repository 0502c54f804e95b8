"""The measures of a forecast of depth, before and after recalibration."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from reproduce.depth.network import SEED
from reproduce.depth.scores import Judged, half_width

#: The variants that are compared, and their names.
VARIANTS = {"before": "before", "training": "training images", "held": "held-out images"}


class Results:
    """The scores of a forecast.

    Parameters
    ----------
    test : dict of str to Judged
        Scores of the test images by variant.
    fitted : dict of str to Judged
        Scores of the images that a map was fitted on, with that map.
    runs : dict of str to ndarray
        Labels of images that follow one another in the source: of the images of each map, and of
        "test".
    """

    def __init__(
        self,
        test: dict[str, Judged],
        fitted: dict[str, Judged],
        runs: dict[str, NDArray[np.intp]],
    ) -> None:
        self.test = test
        self.fitted = fitted
        self.runs = runs

    @cached_property
    def numbers(self) -> dict[str, dict[str, float]]:
        """Measures by variant."""
        return {variant: self._measures(variant) for variant in self.test}

    def _measures(self, variant: str) -> dict[str, float]:
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
        """Return the chance in the test images, and in those of the map."""
        parts = [("test", self.test[variant])]
        if variant in self.fitted:
            parts.append((variant, self.fitted[variant]))
        return sum(judged.floor(self.runs[name] if by_runs else None) for name, judged in parts)

    @cached_property
    def band(self) -> NDArray[np.float64]:
        """Half-width of the band for the held-out map, by chance in its images and the test's."""
        return half_width(self.test["held"], self.fitted["held"], seed=SEED)
