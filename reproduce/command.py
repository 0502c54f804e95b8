"""The command line: list the experiments, and run one with its own options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from reproduce.experiments import EXPERIMENTS, Experiment, ExperimentError, Option, run
from trueline._messages import did_you_mean
from trueline.cli import command, fail, progress, stopped


class _Experiments(TyperGroup):
    """A group of commands that answers an unknown name with the list of experiments."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands and not ctx.resilient_parsing:
            hint = did_you_mean(args[0], EXPERIMENTS)
            fail(f"{args[0]!r} is not an experiment.{hint} {listing()}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Experiments,
    help="Run an experiment of the paper, or list the experiments.",
    invoke_without_command=True,
    rich_markup_mode=None,
    add_completion=False,
)


def main() -> None:
    """Run the command line."""
    app(prog_name="python -m reproduce")


@app.callback()
@command
def _list(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(listing())


def listing() -> str:
    """Return the names and summaries of the experiments, one per line."""
    lines = [f"  {name:<12}{experiment.summary}" for name, experiment in EXPERIMENTS.items()]
    return "\n".join(["The experiments are:", *lines])


def add(name: str, experiment: Experiment) -> None:
    """Add the command of an experiment."""
    app.command(name, help=f"Show {experiment.summary}.")(command(_function(name, experiment)))


def _function(name: str, experiment: Experiment) -> Callable[..., None]:
    """Return a function whose signature gives typer the options of the experiment."""

    def function(**options: Any) -> None:
        from trueline.datasets import DatasetError

        try:
            with progress(name, experiment.unit) as report:
                text = run(name, options, report)
        except KeyboardInterrupt:
            if experiment.resumable:
                same = "the same command" + " without --fresh" * bool(options.get("fresh"))
                stopped(f"the results so far are kept: {same} continues from there")
            raise
        except (DatasetError, ExperimentError) as error:
            fail(str(error))
        print(text)

    parameters = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=Annotated[option.kind, typer.Option(*_flags(option), help=option.help)],
        )
        for option in experiment.options
    ]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {p.name: p.annotation for p in parameters}
    return function


def _flags(option: Option) -> tuple[str, ...]:
    """Return the flag of a switch; typer would otherwise add a ``--no-`` flag."""
    return ("--" + option.name.replace("_", "-"),) if option.kind is bool else ()


for _name, _experiment in EXPERIMENTS.items():
    add(_name, _experiment)
