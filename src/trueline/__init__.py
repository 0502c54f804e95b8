"""Make the uncertainty of any regression model true.

A forecast of 90% intervals should hold 90% of the time. Wrap what a model predicts in a
distribution, fit a recalibrator on held-out data, and transform new forecasts:

>>> import trueline as tl
>>> forecast = tl.Normal(loc=[0.0, 0.0, 0.0, 0.0], scale=0.1)  # far too sure of itself
>>> recalibrator = tl.Isotonic().fit([-2.0, -0.5, 0.5, 2.0], forecast)
>>> recalibrated = recalibrator.transform(tl.Normal(loc=[5.0], scale=0.1))
>>> lower, upper = recalibrated.interval(0.6)
>>> print(lower.round(2), upper.round(2))
[3.] [7.]

The method is that of Kuleshov, Fenner and Ermon, "Accurate Uncertainties for Deep Learning Using
Calibrated Regression" (ICML 2018).
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trueline._load import load as load
    from trueline._report import report as report
    from trueline._validation import (
        CalibrationWarning as CalibrationWarning,
        NotFittedError as NotFittedError,
    )
    from trueline.comparison import compare as compare
    from trueline.decompositions import (
        brier_decomposition as brier_decomposition,
        crps_decomposition as crps_decomposition,
    )
    from trueline.displays import (
        CalibrationDisplay as CalibrationDisplay,
        ComparisonDisplay as ComparisonDisplay,
        DecompositionDisplay as DecompositionDisplay,
        IntervalDisplay as IntervalDisplay,
        PITDisplay as PITDisplay,
        RecalibrationDisplay as RecalibrationDisplay,
        RegionDisplay as RegionDisplay,
        SharpnessDisplay as SharpnessDisplay,
    )
    from trueline.distributions import (
        Distribution as Distribution,
        Laplace as Laplace,
        Logistic as Logistic,
        Mixture as Mixture,
        Normal as Normal,
        Point as Point,
        Quantiles as Quantiles,
        Samples as Samples,
        StudentT as StudentT,
        Support as Support,
    )
    from trueline.estimators import (
        CalibratedRegressor as CalibratedRegressor,
        neg_calibration_error as neg_calibration_error,
        neg_crps as neg_crps,
        neg_interval_score as neg_interval_score,
    )
    from trueline.interop import as_distribution as as_distribution
    from trueline.metrics import (
        calibration_curve as calibration_curve,
        calibration_error as calibration_error,
        calibration_floor as calibration_floor,
        calibration_test as calibration_test,
        conditional_coverage as conditional_coverage,
        coverage as coverage,
        crps as crps,
        ence as ence,
        evaluate as evaluate,
        interval_score as interval_score,
        interval_widths as interval_widths,
        log_score as log_score,
        marginal_calibration as marginal_calibration,
        pinball_loss as pinball_loss,
        pit as pit,
        pit_difference as pit_difference,
        pit_histogram as pit_histogram,
        recalibration_map as recalibration_map,
        sharpness as sharpness,
    )
    from trueline.recalibration import (
        IDR as IDR,
        Auto as Auto,
        BetaCalibration as BetaCalibration,
        Conditional as Conditional,
        Grouped as Grouped,
        Isotonic as Isotonic,
        Recalibrator as Recalibrator,
        Scaling as Scaling,
        Smooth as Smooth,
    )
    from trueline.shift import shift_weights as shift_weights
    from trueline.streams import Online as Online

__version__ = "0.2.0"

# The public names of each module. It is imported when a name is first used, so that
# `import trueline` costs next to nothing.
_PUBLIC = {
    "_load": "load",
    "_report": "report",
    "_validation": "CalibrationWarning NotFittedError",
    "comparison": "compare",
    "decompositions": "brier_decomposition crps_decomposition",
    "displays": "CalibrationDisplay ComparisonDisplay DecompositionDisplay IntervalDisplay "
    "PITDisplay RecalibrationDisplay RegionDisplay SharpnessDisplay",
    "distributions": "Distribution Laplace Logistic Mixture Normal Point Quantiles Samples "
    "StudentT Support",
    "estimators": "CalibratedRegressor neg_calibration_error neg_crps neg_interval_score",
    "interop": "as_distribution",
    "metrics": "calibration_curve calibration_error calibration_floor "
    "calibration_test conditional_coverage coverage crps ence evaluate "
    "interval_score interval_widths log_score marginal_calibration pinball_loss pit pit_difference "
    "pit_histogram recalibration_map sharpness",
    "recalibration": "IDR Auto BetaCalibration Conditional Grouped Isotonic Recalibrator Scaling "
    "Smooth",
    "shift": "shift_weights",
    "streams": "Online",
}
# Modules that are offered as they are.
_MODULES = [
    "clusters",
    "datasets",
    "estimators",
    "export",
    "files",
    "interop",
    "inventory",
    "models",
    "series",
    "shift",
    "streams",
    "testing",
    "tracking",
]
_HOME = {name: f"trueline.{module}" for module, names in _PUBLIC.items() for name in names.split()}

__all__ = list(_HOME)

if not TYPE_CHECKING:  # a type checker that saw __getattr__ would believe in every name

    def __getattr__(name: str) -> object:
        if name in _HOME:
            value = globals()[name] = getattr(import_module(_HOME[name]), name)
            return value
        if name in _MODULES:
            return import_module(f"trueline.{name}")

        from difflib import get_close_matches

        close = get_close_matches(name, __all__, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_MODULES, "__version__"])
