"""The page, the table and the CSV file of the forecasts of depth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reproduce.depth.network import FORECASTS
from reproduce.depth.results import VARIANTS, Measures, Results
from reproduce.depth.scores import LEVELS
from reproduce.pages import comma_separated, markdown, page, share

Numbers = Mapping[str, Mapping[str, Measures]]

#: Calibration error before and after recalibration, on Make3D and with dropout alone.
PAPER = (5.50e-2, 2.41e-2)
#: Processor times of a network, in seconds.
TIMES = ("training_seconds", "forecast_seconds")
_HEADS = ("forecast", "variant", "network", "fit_images", "test_images", "test_pixels")
_MEAN = "mean"


def csv_of(found: Mapping[str, Results], times: Sequence[Sequence[float]]) -> str:
    """Return all numbers and the curves, one line per forecast, variant and network.

    A line of the means of all networks comes before theirs. `times` has `TIMES` of each network.
    """
    measures = list(found["both"].numbers["before"].mean)
    levels = [f"below_{level:g}" for level in LEVELS]
    mean_times = [sum(column) / len(times) for column in zip(*times, strict=True)]
    rows = []
    for forecast, one in found.items():
        for variant, (mean, networks) in one.numbers.items():
            test, fitted = one.test(variant), one.fitted(variant)
            curves = [one.curve(variant), *(judged.curve for judged in test)]
            names = [_MEAN, *range(len(networks))]
            values = zip(names, [mean, *networks], [mean_times, *times], curves, strict=True)
            for name, numbers, seconds, curve in values:
                rows.append(
                    [
                        *(FORECASTS[forecast], VARIANTS[variant], name),
                        len(fitted[0]) if fitted else "",
                        *(len(test[0]), int(test[0].n.sum())),
                        *(numbers[measure] for measure in measures),
                        *seconds,
                        *curve.tolist(),
                    ]
                )
    return comma_separated([*_HEADS, *measures, *TIMES, *levels], rows)


def numbers_of(rows: Sequence[Mapping[str, str]]) -> Numbers:
    """Return the numbers in the rows of `csv_of`, by forecast and variant."""
    forecasts, variants = ({name: key for key, name in of.items()} for of in (FORECASTS, VARIANTS))
    measures = [name for name in rows[0] if name not in _HEADS and not name.startswith("below_")]
    found: dict[str, dict[str, Measures]] = {}
    for row in rows:
        by_variant = found.setdefault(forecasts[row["forecast"]], {})
        values = {name: float(row[name]) for name in measures}
        variant = variants[row["variant"]]
        if row["network"] == _MEAN:
            by_variant[variant] = Measures(values, [])
        else:
            by_variant[variant].networks.append(values)
    return found


def table(found: Numbers) -> str:
    """Return the table of the mean measures, one line per forecast and variant."""
    heads = (
        *("", "RMSE", "relative error", "calibration error", "floor", "error / floor"),
        *("CRPS", "90% holds", "width"),
    )
    rows = [
        (
            name,
            f"{n['rmse']:.4f} m",
            share(n["relative_error"]),
            f"{n['calibration_error']:.3e}",
            f"{n['calibration_floor']:.3e}",
            f"{n['calibration_error'] / n['calibration_floor']:.2f}",
            f"{n['crps']:.4f} m",
            share(n["coverage"]),
            f"{n['width']:.2f} m",
        )
        for name, (n, _) in _lines(found)
    ]
    return markdown(heads, rows)


def chance_table(found: Numbers) -> str:
    """Return the table of what chance in the images and in the training does."""
    heads = (
        *("", "calibration error, 95%", "of the networks", "90% holds, 95%", "of the networks"),
        *("floor by runs", "effective pixels"),
    )
    rows = []
    for name, measures in _lines(found):
        n = measures.mean
        errors = (n["calibration_error_low"], n["calibration_error_high"])
        coverages = (n["coverage_low"], n["coverage_high"])
        rows.append(
            (
                name,
                _errors(errors),
                _errors(measures.range("calibration_error")),
                _shares(coverages),
                _shares(measures.range("coverage")),
                f"{n['floor_by_runs']:.2e}",
                f"{n['effective_pixels']:,.0f}",
            )
        )
    return markdown(heads, rows)


def _lines(found: Numbers) -> list[tuple[str, Measures]]:
    return [
        (f"{FORECASTS[forecast]}, {VARIANTS[variant]}", measures)
        for forecast, by_variant in found.items()
        for variant, measures in by_variant.items()
    ]


def _errors(ends: tuple[float, float]) -> str:
    return " to ".join(f"{end:.2e}" for end in ends)


def _shares(ends: tuple[float, float]) -> str:
    return " to ".join(f"{100 * end:.1f}" for end in ends) + "%"


def side_by_side(found: Numbers) -> str:
    """Return the paper's two numbers and ours, with the map of the training images."""
    rows = []
    for forecast, by_variant in found.items():
        paper = [f"{value:.2e}" for value in PAPER] if forecast == "dropout" else ["", ""]
        before, after = by_variant["before"].mean, by_variant["training"].mean
        errors = [f"{n['calibration_error']:.2e}" for n in (before, after)]
        rmse = [f"{n['rmse']:.4f} m" for n in (before, after)]
        rows.append((FORECASTS[forecast], *paper, *errors, *rmse))
    heads = ("", "paper, before", "paper, after", "ours, before", "ours, after")
    return markdown((*heads, "RMSE before", "RMSE after"), rows)


def page_of(found: Numbers, command: str, made: str) -> str:
    """Return the page."""
    any_ = found["both"]["before"]
    minutes = [f"{any_.mean[name] / 60:.0f}" for name in TIMES]
    values = {
        "made": made,
        "networks": str(len(any_.networks)),
        "training": minutes[0],
        "forecasts": minutes[1],
        "rmse": f"{any_.mean['rmse']:.2f}",
        "side_by_side": side_by_side(found),
        "table": table(found),
        "chance": chance_table(found),
    }
    return page("depth", command, values)
