"""Pictures of diagnostics, with the interface of scikit-learn's displays.

They need matplotlib, ``pip install "matplotlib>=3.9"``, which is loaded when something is drawn.
"""

from trueline.displays._calibration import CalibrationDisplay
from trueline.displays._comparison import ComparisonDisplay
from trueline.displays._decomposition import DecompositionDisplay
from trueline.displays._intervals import IntervalDisplay
from trueline.displays._pit import PITDisplay
from trueline.displays._recalibration import RecalibrationDisplay
from trueline.displays._regions import RegionDisplay
from trueline.displays._sharpness import SharpnessDisplay

__all__ = [
    "CalibrationDisplay",
    "ComparisonDisplay",
    "DecompositionDisplay",
    "IntervalDisplay",
    "PITDisplay",
    "RecalibrationDisplay",
    "RegionDisplay",
    "SharpnessDisplay",
]
