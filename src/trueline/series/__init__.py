"""Time series: windows that respect gaps, forecasts and recalibration in order of time.

>>> import numpy as np
>>> from trueline.series import windows
>>> days = np.arange("2016-01-01", "2016-12-31", dtype="datetime64[D]")
>>> windows({"date": days, "value": np.ones(365)})
Windows(361 rows: 1 series, 2016-01-05 to 2016-12-30; 4 steps x 61 inputs)
"""

from trueline.series._paths import Paths, sample_paths
from trueline.series._rolling import (
    RollingOrigins,
    recalibrate_daily,
    rolling_forecasts,
    rolling_origins,
)
from trueline.series._windows import Windows, windows

__all__ = [
    "Paths",
    "RollingOrigins",
    "Windows",
    "recalibrate_daily",
    "rolling_forecasts",
    "rolling_origins",
    "sample_paths",
    "windows",
]
