"""The measures of a forecast of depth, before and after recalibration."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from reproduce.depth.network import SEED
from reproduce.depth.scores import Judged, half_width, mean_curve, resampled

#: The variants that are compared, and their names.
VARIANTS = {"before": "before", "training": "training images", "held": "held-out images"}


class Scores(NamedTuple):
    """The scores of a forecast by one network.

    Attributes
    ----------
    test : dict of str to Judged
        Scores of the test images by variant.
    fitted : dict of str to Judged
        Scores of the images that a map was fitted on, with that map.
    """

    test: dict[str, Judged]
    fitted: dict[str, Judged]


class Measures(NamedTuple):
    """The measures of each network by name, and of all networks, whose values are means."""

    mean: dict[str, float]
    networks: list[dict[str, float]]

    def range(self, name: str) -> tuple[float, float]:
        """Return the least and the largest value of a measure among the networks."""
        values = [one[name] for one in self.networks]
        return min(values), max(values)


class Results:
    """The scores of a forecast.

    Parameters
    ----------
    networks : sequence of Scores
        The scores of each network, on the same images.
    runs : dict of str to ndarray
        Labels of images that follow one another in the source: of the images of each map, and of
        "test".
    """

    def __init__(self, networks: Sequence[Scores], runs: dict[str, NDArray[np.intp]]) -> None:
        self.networks = networks
        self.runs = runs

    def test(self, variant: str) -> list[Judged]:
        """Return the scores of the test images by each network."""
        return [one.test[variant] for one in self.networks]

    def fitted(self, variant: str) -> list[Judged]:
        """Return the scores of the images of the map by each network; empty without a map."""
        return [one.fitted[variant] for one in self.networks if variant in one.fitted]

    def curve(self, variant: str) -> NDArray[np.float64]:
        """Return the mean of the curves of the networks."""
        return mean_curve(self.test(variant))

    @cached_property
    def numbers(self) -> dict[str, Measures]:
        """Measures by variant."""
        return {variant: self._measures(variant) for variant in VARIANTS}

    def _measures(self, variant: str) -> Measures:
        found = [self._of_network(one, variant) for one in self.networks]
        means = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
        intervals = [_intervals([judged]) for judged in self.test(variant)]
        return Measures(
            means | _intervals(self.test(variant)),
            [one | own for one, own in zip(found, intervals, strict=True)],
        )

    def _of_network(self, one: Scores, variant: str) -> dict[str, float]:
        judged = one.test[variant]
        return {
            "rmse": judged.rmse,
            "relative_error": judged.mean("relative_error"),
            "calibration_error": judged.calibration_error,
            "calibration_floor": self._floor(one, variant),
            "floor_by_runs": self._floor(one, variant, by_runs=True),
            "effective_pixels": judged.effective_pixels(),
            "crps": judged.mean("crps"),
            "coverage": judged.mean("inside"),
            "width": judged.mean("width"),
        }

    def _floor(self, one: Scores, variant: str, *, by_runs: bool = False) -> float:
        """Return the chance in the test images, and in those of the map."""
        parts = [("test", one.test[variant])]
        if variant in one.fitted:
            parts.append((variant, one.fitted[variant]))
        return sum(judged.floor(self.runs[name] if by_runs else None) for name, judged in parts)

    @cached_property
    def band(self) -> NDArray[np.float64]:
        """Half-width of the band of the held-out map, by chance in images and trainings."""
        return half_width(self.test("held"), self.fitted("held"), seed=SEED)


def _intervals(networks: Sequence[Judged]) -> dict[str, float]:
    """Return the intervals of the measures; those of one network are of its images only."""
    drawn = resampled(networks, seed=SEED)
    error, coverage = drawn.error_interval(), drawn.coverage_interval()
    return {
        "calibration_error_low": error[0],
        "calibration_error_high": error[1],
        "coverage_low": coverage[0],
        "coverage_high": coverage[1],
    }
