"""The page, the table and the CSV file of the forecasts of depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reproduce.depth.network import FORECASTS
from reproduce.depth.results import VARIANTS, Results
from reproduce.depth.scores import LEVELS
from reproduce.pages import comma_separated, markdown, page, share

Numbers = Mapping[str, Mapping[str, Mapping[str, float]]]

#: Calibration error before and after recalibration, on Make3D and with dropout alone.
PAPER = (5.50e-2, 2.41e-2)
_HEADS = ("forecast", "variant", "fit_images", "test_images", "test_pixels")


def csv_of(found: Mapping[str, Results]) -> str:
    """Return all numbers and the curves, one line per forecast and variant."""
    measures = list(found["both"].numbers["before"])
    levels = [f"below_{level:g}" for level in LEVELS]
    heads = [*_HEADS, *measures, *levels]
    rows = [
        [
            *(FORECASTS[forecast], VARIANTS[variant]),
            len(one.fitted[variant]) if variant in one.fitted else "",
            *(len(judged), int(judged.n.sum())),
            *one.numbers[variant].values(),
            *judged.curve.tolist(),
        ]
        for forecast, one in found.items()
        for variant, judged in one.test.items()
    ]
    return comma_separated(heads, rows)


def numbers_of(rows: Sequence[Mapping[str, str]]) -> Numbers:
    """Return the numbers in the rows of `csv_of`, by forecast and variant."""
    forecasts, variants = ({name: key for key, name in of.items()} for of in (FORECASTS, VARIANTS))
    measures = [name for name in rows[0] if name not in _HEADS and not name.startswith("below_")]
    found: dict[str, dict[str, dict[str, float]]] = {}
    for row in rows:
        by_variant = found.setdefault(forecasts[row["forecast"]], {})
        by_variant[variants[row["variant"]]] = {name: float(row[name]) for name in measures}
    return found


def table(found: Numbers) -> str:
    """Return the table of the measures, one line per forecast and variant."""
    heads = (
        *("", "RMSE", "relative error", "calibration error", "floor", "error / floor"),
        *("CRPS", "90% holds", "width"),
    )
    rows = [
        (
            f"{FORECASTS[forecast]}, {VARIANTS[variant]}",
            f"{n['rmse']:.4f} m",
            share(n["relative_error"]),
            f"{n['calibration_error']:.3e}",
            f"{n['calibration_floor']:.3e}",
            f"{n['calibration_error'] / n['calibration_floor']:.2f}",
            f"{n['crps']:.4f} m",
            share(n["coverage"]),
            f"{n['width']:.2f} m",
        )
        for forecast, by_variant in found.items()
        for variant, n in by_variant.items()
    ]
    return markdown(heads, rows)


def chance_table(found: Numbers) -> str:
    """Return the table of what chance in the images does."""
    heads = ("", "calibration error, 95%", "90% holds, 95%", "floor by runs", "effective pixels")
    rows = [
        (
            f"{FORECASTS[forecast]}, {VARIANTS[variant]}",
            f"{n['calibration_error_low']:.2e} to {n['calibration_error_high']:.2e}",
            f"{100 * n['coverage_low']:.1f} to {100 * n['coverage_high']:.1f}%",
            f"{n['floor_by_runs']:.2e}",
            f"{n['effective_pixels']:,.0f}",
        )
        for forecast, by_variant in found.items()
        for variant, n in by_variant.items()
    ]
    return markdown(heads, rows)


def side_by_side(found: Numbers) -> str:
    """Return the paper's two numbers and ours, with the map of the training images."""
    rows = []
    for forecast, by_variant in found.items():
        paper = [f"{value:.2e}" for value in PAPER] if forecast == "dropout" else ["", ""]
        before, after = by_variant["before"], by_variant["training"]
        errors = [f"{n['calibration_error']:.2e}" for n in (before, after)]
        rmse = [f"{n['rmse']:.4f} m" for n in (before, after)]
        rows.append((FORECASTS[forecast], *paper, *errors, *rmse))
    heads = ("", "paper, before", "paper, after", "ours, before", "ours, after")
    return markdown((*heads, "RMSE before", "RMSE after"), rows)


def page_of(found: Numbers, command: str, made: str) -> str:
    """Return the page."""
    values = {
        "made": made,
        "side_by_side": side_by_side(found),
        "table": table(found),
        "chance": chance_table(found),
    }
    return page("depth", command, values)
