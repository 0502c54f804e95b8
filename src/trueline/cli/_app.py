"""The commands and their options. Slow imports are inside the functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from trueline.cli._errors import command

app = typer.Typer(
    name="trueline",
    help=(
        "Make the uncertainty of forecasts true: a 90% interval that holds 90% of the time.\n\n"
        "Files are CSV, TSV, Parquet or Arrow, of any size. Outcomes are in column y; forecasts in "
        "mean and std, in quantiles q0.05, q0.5, ..., in lower_0.9 and upper_0.9, in sample_0, "
        "sample_1, ..., or in mean alone. Options name other columns; --lower, --upper and "
        "--coverage are one interval, such as that of Prophet. A folder is read as one "
        "file, and so are the files of a pattern, which needs quotes: '2024-*.parquet'. The "
        "name - is standard input, in CSV, or standard output.\n\n"
        "\b\n"
        "  trueline sample past.csv new.csv            example files to try these on\n"
        "  trueline evaluate past.csv                  do the intervals hold?\n"
        "  trueline fit past.csv -o map.json           learn a map from the past\n"
        "  trueline apply map.json new.csv -o out.csv  recalibrate new forecasts\n"
        "  trueline report past.csv -o report.html     a page that shows it\n"
        "  trueline compare a.csv b.csv                which forecast is best?"
    ),
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


# Names of recalibrators, and kinds of forecast that columns can hold.
Method = StrEnum("Method", ["isotonic", "smooth", "beta", "scaling", "auto", "grouped"])
Kind = StrEnum("Kind", ["normal", "point", "quantiles", "intervals", "samples"])

# Arguments and options that commands share.
File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="File, folder, or pattern in quotes; - is standard input."),
]
MapFile = Annotated[
    Path, typer.Argument(metavar="MAP", help="Map that fit wrote; - is standard input.")
]
Y = Annotated[str | None, typer.Option("--y", metavar="COLUMN", help="Outcomes; default y.")]
Mean = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Means; default mean. With --lower and --upper, the middle of the interval.",
    ),
]
Std = Annotated[str | None, typer.Option(metavar="COLUMN", help="Standard deviation; default std.")]
Lower = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Lower end of an interval; needs --upper and --coverage."),
]
Upper = Annotated[str | None, typer.Option(metavar="COLUMN", help="Upper end of that interval.")]
QuantileColumns = Annotated[
    str | None,
    typer.Option(metavar="PREFIX", help="Start of the quantiles' names; default q, as in q0.05."),
]
SampleColumns = Annotated[
    str | None,
    typer.Option(metavar="PREFIX", help="Start of the draws' names; default sample_."),
]
KindOption = Annotated[
    Kind | None, typer.Option("--kind", help="Forecast to use if there are several.")
]
Coverage = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Coverage of the intervals to evaluate, default 0.9; with --lower and --upper, the "
        "coverage that their interval should have.",
    ),
]
Group = Annotated[str | None, typer.Option(metavar="COLUMN", help="Group of each row.")]
DependentGroup = Annotated[
    str | None,
    typer.Option(
        "--group",
        metavar="COLUMN",
        help="Group of each row, for maps with groups. Without such a map, standard errors allow "
        "for rows of a group that depend on each other.",
    ),
]
Weight = Annotated[str | None, typer.Option(metavar="COLUMN", help="Weight of each row.")]
Separator = Annotated[
    str | None,
    typer.Option(metavar="CHARACTER", help="Between the columns of a text file; default , or tab."),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar="CHARACTER", help="Decimal character of a text file; default a point."),
]
SkipMissing = Annotated[
    bool,
    typer.Option(
        "--skip-missing",
        help="Leave out rows with a missing outcome or forecast: an empty cell, NaN, NA or null. "
        "Without it they are an error.",
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option(
        "--x",
        metavar="COLUMN",
        help="Feature to search for weak spots; a single one is the axis of the plots. May be "
        "repeated.",
    ),
]
GivenFeatures = Annotated[
    list[str] | None,
    typer.Option(
        "--x",
        metavar="COLUMN",
        help="Feature: also show whether the intervals hold given the features, and where they do "
        "not. May be repeated.",
    ),
]
EmptyCells = Annotated[
    bool,
    typer.Option(
        "--skip-missing",
        help="Write rows with a missing forecast (an empty cell, NaN, NA or null) with empty cells "
        "in the new columns. Without it they are an error.",
    ),
]
MethodOption = Annotated[Method, typer.Option("--method", help="Kind of map.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Seed = Annotated[int, typer.Option("--random-state", min=0, help="Seed of random draws.")]


# Options for the columns of a forecast, and for text files.
_FORECAST = {
    "mean": Mean,
    "std": Std,
    "quantile_columns": QuantileColumns,
    "sample_columns": SampleColumns,
    "kind": KindOption,
    "lower": Lower,
    "upper": Upper,
    "separator": Separator,
    "decimal": Decimal,
    "skip_missing": SkipMissing,
}
_DEFAULTS = {"skip_missing": False}


def forecast_options(**others: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that takes ``columns`` and ``text`` the options that these are made of.

    ``others`` are options for columns besides those of the forecast itself.
    """
    options = _FORECAST | others

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def run(**given: Any) -> None:
            from trueline.cli._reading import TextFormat
            from trueline.files import Columns

            values = {name: given.pop(name) for name in options}
            reading = (values.pop(name) for name in TextFormat._fields)
            text = TextFormat(*reading)
            values["kind"] = None if values["kind"] is None else values["kind"].value
            values["x"] = tuple(values.get("x") or ())
            function(columns=Columns(**values), text=text, **given)

        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(function, eval_str=True).parameters.values():
            own = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            shared = [
                own.replace(name=n, default=_DEFAULTS.get(n), annotation=a)
                for n, a in options.items()
            ]
            parameters += {"columns": shared, "text": []}.get(parameter.name, [own])
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in parameters}
        return run

    return decorate


def _version(wanted: bool) -> None:
    if wanted:
        from trueline import __version__

        print(f"trueline {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    pass


@app.command()
@command
@forecast_options(coverage=Coverage, group=Group, weight=Weight, y=Y, x=GivenFeatures)
def evaluate(
    file: File,
    map_file: Annotated[
        Path | None,
        typer.Option("--map", metavar="MAP", help="Evaluate the forecasts after this map."),
    ] = None,
    *,
    columns: Any,
    text: Any,
    json: Json = False,
) -> None:
    """Show whether the intervals hold, and how good the forecasts are."""
    from trueline.cli import _commands

    _commands.evaluate(file, map_file, columns, text, json)


@app.command(short_help="Learn a map from past forecasts and outcomes.")
@command
@forecast_options(coverage=Coverage, group=Group, weight=Weight, y=Y)
def fit(
    file: File,
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            metavar="MAP",
            help="File to write: .json or .bin (smaller); - is standard output.",
        ),
    ],
    method: MethodOption = Method.isotonic,
    support: Annotated[
        str,
        typer.Option(
            metavar="VALUES",
            help="Values that outcomes can take: auto (learned from the first rows), none (every "
            "number), counts, a list such as 1,2,3, or a range whose ends they reach, such as 0: "
            "or 0:100.",
        ),
    ] = "auto",
    *,
    columns: Any,
    text: Any,
    max_knots: Annotated[
        int,
        typer.Option(
            min=2,
            metavar="NUMBER",
            help="Number of scores to keep. With 100,000, ranks are off by about 1e-5; more make "
            "a larger map.",
        ),
    ] = 100_000,
    force: Force = False,
    json: Json = False,
) -> None:
    """Learn a map from past forecasts and outcomes, which recalibrates new forecasts.

    The model should not have been trained on these rows. With --group there is one map per group;
    the map of a small group is close to that of all rows.
    """
    from trueline.cli import _commands

    _commands.fit(file, out, method.value, support, columns, text, max_knots, force, json)


@app.command(short_help="Write new forecasts with intervals that hold.")
@command
@forecast_options(group=Group, skip_missing=EmptyCells)
def apply(
    map_file: MapFile,
    file: File,
    out: Annotated[
        Path,
        typer.Option(
            "--out", "-o", metavar="FILE", help="File or folder to write; - is standard output."
        ),
    ],
    coverage: Annotated[
        list[float] | None,
        typer.Option(
            metavar="SHARE",
            help="Write lower_ and upper_ ends of this interval. May be repeated; default "
            "0.9, unless there are quantiles or moments. With --lower and --upper it is the "
            "coverage of their interval; write other levels with --quantiles.",
        ),
    ] = None,
    quantiles: Annotated[
        list[str] | None,
        typer.Option(metavar="LEVELS", help="Write quantiles, such as 0.05,0.5,0.95."),
    ] = None,
    moments: Annotated[
        bool, typer.Option("--moments", help="Write recalibrated_mean and recalibrated_std.")
    ] = False,
    prefix: Annotated[
        str, typer.Option(metavar="PREFIX", help="Start of the new columns' names.")
    ] = "",
    *,
    columns: Any,
    text: Any,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write new forecasts with recalibrated intervals or quantiles beside them.

    The columns of the input are kept unchanged. The ending of --out sets the format.
    """
    from trueline.cli import _commands

    output = _commands.Output(coverage or [], quantiles or [], moments, prefix)
    _commands.apply(map_file, file, out, output, columns, text, force, json)


@app.command(short_help="Write a page: before and after recalibration.")
@command
@forecast_options(coverage=Coverage, group=Group, weight=Weight, y=Y, x=Features)
def report(
    file: File,
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="HTML", help="Page to write; - is standard output."),
    ],
    map_file: Annotated[
        Path | None,
        typer.Option("--map", metavar="MAP", help="Show before and after this map."),
    ] = None,
    method: Annotated[
        Method | None,
        typer.Option("--method", help="Kind of map to fit if there is no --map; default isotonic."),
    ] = None,
    *,
    columns: Any,
    text: Any,
    title: Annotated[str | None, typer.Option(help="Title of the page.")] = None,
    unit: Annotated[str | None, typer.Option(help="Unit of the outcomes.")] = None,
    random_state: Seed = 0,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a page that shows forecasts before and after recalibration.

    Without --map, a random half of the rows fits one, and the page judges it on the other half.
    If there are more than a million rows, a million are drawn at random.
    """
    from trueline.cli import _report

    page = _report.Page(out, title, unit, random_state)
    chosen = None if method is None else method.value
    _report.report(file, map_file, page, chosen, columns, text, force, json)


@app.command(short_help="Compare forecasts of the same rows, or maps.")
@command
@forecast_options(coverage=Coverage, group=DependentGroup, weight=Weight, y=Y)
def compare(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Files with the same rows in the same order, one forecast each; or one file for "
            "--map. - is standard input.",
        ),
    ],
    map_file: Annotated[
        list[Path] | None,
        typer.Option(
            "--map",
            metavar="MAP",
            help="Compare FILE with its forecasts after this map. May be repeated.",
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="Name of a forecast, once for each; default the names of the files and maps.",
        ),
    ] = None,
    *,
    columns: Any,
    text: Any,
    random_state: Seed = 0,
    json: Json = False,
) -> None:
    """Show which of several forecasts of the same rows is best, and how sure that is.

    The one with the lowest CRPS wins; a difference is clear if chance does not explain it. Rows
    are taken as independent, unless --group says otherwise. If there are more than a million
    rows, a million are drawn at random.
    """
    from trueline.cli import _compare

    compared = _compare.Compared(files, map_file or [], name or [])
    _compare.compare(compared, columns, text, random_state, json)


@app.command(short_help="Write example files to try the other commands on.")
@command
def sample(
    past: Annotated[
        Path, typer.Argument(metavar="PAST", help="File to write; - is standard output.")
    ],
    new: Annotated[
        Path | None, typer.Argument(metavar="NEW", help="File to write with later rows.")
    ] = None,
    rows: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Number of rows of PAST.")] = (
        2000
    ),
    random_state: Seed = 0,
    force: Force = False,
) -> None:
    """Write made-up forecasts that are too sure, with their outcomes.

    They are daily sales of three stores: columns day, store, y, mean and std. PAST is for fit, and
    NEW has the days after, half as many rows. The endings set the formats.
    """
    from trueline.cli import _sample

    _sample.sample(past, new, rows, random_state, force)


@app.command()
@command
def demo(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="HTML", help="Page to write.")] = Path(
        "report.html"
    ),
    force: Force = False,
) -> None:
    """Show an over-confident model before and after recalibration."""
    from trueline import demo as demonstration
    from trueline._files import check_writable
    from trueline.cli._errors import notes, print_notes

    check_writable(out, force=force)
    with notes() as found:
        demonstration.main(out, force=force)
    print_notes(found)
