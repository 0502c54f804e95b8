"""The command line: list the experiments, and run one with its own options."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperGroup

from reproduce import ExperimentError
from trueline._messages import did_you_mean
from trueline.cli import command, fail, progress, stopped


class _Experiments(TyperGroup):
    """A group of commands that answers an unknown name with the list of experiments."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands and not ctx.resilient_parsing:
            hint = did_you_mean(args[0], self.commands)
            fail(f"{args[0]!r} is not an experiment.{hint}", below=f" {listing()}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Experiments,
    help="Run an experiment of the paper, or list the experiments.",
    invoke_without_command=True,
    rich_markup_mode=None,
    add_completion=False,
)

Fresh = Annotated[bool, Option("--fresh", help="Start again and discard the results that exist.")]
Jobs = Annotated[int, Option(help="Number of parallel processes.")]
Output = Annotated[
    Path | None,
    Option(help="Folder for the results. Default: results/ and the name, -quick with --quick."),
]
Quick = Annotated[bool, Option("--quick", help="A small run, as a check.")]
Seeds = Annotated[int | None, Option(help="Seeds per network. Default: 5, with --quick 1.")]
Stores = Annotated[list[int] | None, Option(help="Store 44 or 51; repeatable. Default: both.")]


def main() -> None:
    """Run the command line."""
    app(prog_name="python -m reproduce")


def listing() -> str:
    """Return the names and summaries of the experiments, one per line."""
    lines = [
        f"  {one.name:<12}{(one.callback.__doc__ or '').rstrip('.')}"
        for one in app.registered_commands
        if one.callback is not None
    ]
    return "\n".join(["The experiments are:", *lines])


@app.callback()
@command
def _list(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(listing())


@app.command("figure1")
@command
def _figure1(output: Output = None) -> None:
    """Figure 1: a series before and after recalibration, simulated."""
    _figure(1, output)


@app.command("figure2")
@command
def _figure2(quick: Quick = False, output: Output = None) -> None:
    """Figure 2: a linear classifier, recalibrated in three ways."""
    _run("reproduce.figure2", "rows", quick=quick, output=output)


@app.command("figure3")
@command
def _figure3(output: Output = None) -> None:
    """Figure 3: intervals, the fitted map and the calibration plot, simulated."""
    _figure(3, output)


@app.command("figure4")
@command
def _figure4(output: Output = None) -> None:
    """Figure 4: one width, and a width that depends on x, simulated."""
    _figure(4, output)


@app.command("table1")
@command
def _table1(
    datasets: Annotated[
        list[str] | None, Option(help="A data set; repeatable. Default: all.")
    ] = None,
    models: Annotated[list[str] | None, Option(help="A model; repeatable. Default: all.")] = None,
    splits: Annotated[int | None, Option(help="Random splits. Default: 5, with --quick 1.")] = None,
    jobs: Jobs = 2,
    quick: Quick = False,
    fresh: Fresh = False,
    output: Output = None,
) -> None:
    """Table 1: eight data sets and four models, before and after recalibration."""
    options = {"datasets": datasets, "models": models, "splits": splits, "jobs": jobs}
    _run("reproduce.table1", "fits", **options, quick=quick, fresh=fresh, output=output)


@app.command("forecast")
@command
def _forecast(
    stores: Stores = None,
    seeds: Seeds = None,
    jobs: Jobs = 2,
    quick: Quick = False,
    fresh: Fresh = False,
    output: Output = None,
) -> None:
    """Figures 3 and 6: daily sales, forecast by a recurrent network and recalibrated in time."""
    options = {"stores": stores, "seeds": seeds, "jobs": jobs}
    _run("reproduce.forecast", "fits", **options, quick=quick, fresh=fresh, output=output)


@app.command("inventory")
@command
def _inventory(
    stores: Stores = None,
    seeds: Seeds = None,
    jobs: Jobs = 2,
    quick: Quick = False,
    fresh: Fresh = False,
    output: Output = None,
) -> None:
    """Table 2: orders of a perishable item, planned with forecasts before and after."""
    options = {"stores": stores, "seeds": seeds, "jobs": jobs}
    _run("reproduce.inventory", "fits", **options, quick=quick, fresh=fresh, output=output)


@app.command("epochs")
@command
def _epochs(
    jobs: Jobs = 2,
    quick: Quick = False,
    fresh: Fresh = False,
    output: Output = None,
) -> None:
    """Beyond the paper: the results with networks that are trained for other lengths."""
    _run("reproduce.epochs", "fits", jobs=jobs, quick=quick, fresh=fresh, output=output)


@app.command("depth")
@command
def _depth(
    epochs: Annotated[
        int | None, Option(help="Epochs of training. Default: 40, with --quick 2.")
    ] = None,
    seeds: Annotated[
        int | None, Option(help="Networks, each with a seed. Default: 3, with --quick 2.")
    ] = None,
    jobs: Jobs = 2,
    quick: Quick = False,
    fresh: Fresh = False,
    output: Output = None,
) -> None:
    """Figure 5: the depth of every pixel of an image, forecast by a DenseNet."""
    options = {"epochs": epochs, "seeds": seeds, "jobs": jobs}
    _run("reproduce.depth", "images", **options, quick=quick, fresh=fresh, output=output)


@app.command("benchmark")
@command
def _benchmark(
    sets: Annotated[list[str] | None, Option(help="A data set; repeatable. Default: all.")] = None,
    models: Annotated[list[str] | None, Option(help="A model; repeatable. Default: all.")] = None,
    seeds: Annotated[int | None, Option(help="Seeds. Default: 10, with --quick 1.")] = None,
    jobs: Jobs = 2,
    quick: Quick = False,
    fresh: Fresh = False,
    output: Output = None,
) -> None:
    """Beyond the paper: four methods on sixteen data sets, beside published scores."""
    options = {"sets": sets, "models": models, "seeds": seeds, "jobs": jobs}
    _run("reproduce.benchmark", "fits", **options, quick=quick, fresh=fresh, output=output)


@app.command("pages")
@command
def _pages() -> None:
    """Write the committed pages again from the committed numbers, without running anything."""
    from reproduce.rewrite import run

    try:
        print(run(Path("results")))
    except ExperimentError as error:
        fail(str(error))


def _figure(number: int, output: Path | None) -> None:
    from reproduce.figures import draw

    try:
        print(draw(number, output))
    except ExperimentError as error:
        fail(str(error))


def _run(package: str, unit: str, **options: Any) -> None:
    """Run the experiment in ``package.experiment``, which is slow to import, and print its text."""
    from trueline.datasets import DatasetError

    name = package.rpartition(".")[2]
    experiment: Any = import_module(f"{package}.experiment")
    try:
        with progress(name, unit) as report:
            text = experiment.run(**options, progress=report)
    except KeyboardInterrupt:
        if "fresh" not in options:
            raise
        same = "the same command without --fresh" if options["fresh"] else "the same command"
        stopped(f"the results so far are kept: {same} continues from there")
    except (DatasetError, ExperimentError) as error:
        fail(str(error))
    print(text)
