"""``trueline reproduce``: list the experiments, and run one with its own options."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from reproduce import EXPERIMENTS, Experiment, ExperimentError, Option, run
from trueline.cli._errors import command, fail, stopped


class _Experiments(TyperGroup):
    """Commands of which an unknown one is answered with those there are."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] not in self.commands and not ctx.resilient_parsing:
            from trueline._messages import did_you_mean

            hint = did_you_mean(args[0], EXPERIMENTS)
            fail(f"{args[0]!r} is not an experiment.{hint} {listing()}")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Experiments,
    help="Run an experiment of the paper, or list those there are.",
    invoke_without_command=True,
    rich_markup_mode=None,
)


@app.callback()
@command
def _list(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        print(listing())


def listing() -> str:
    """Every experiment with what it shows, a line each."""
    lines = [f"  {name:<12}{experiment.summary}" for name, experiment in EXPERIMENTS.items()]
    return "\n".join(["The experiments are:", *lines])


def add(name: str, experiment: Experiment) -> None:
    """Make a command of an experiment."""
    app.command(name, help=f"Show {experiment.summary}.")(command(_function(name, experiment)))


def _function(name: str, experiment: Experiment) -> Callable[..., None]:
    """Make a function whose signature tells typer the experiment's options."""

    def function(**options: Any) -> None:
        from trueline.cli._progress import progress
        from trueline.datasets import DatasetError

        try:
            with progress(name, experiment.unit) as told:
                text = run(name, options, told)
        except KeyboardInterrupt:
            if experiment.resumable:
                same = "the same command, without --fresh," if options.get("fresh") else None
                stopped(f"what is done is kept: {same or 'the same command'} goes on from there")
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
    """The flag; named in full for a switch, or there would be a --no- beside it."""
    return ("--" + option.name.replace("_", "-"),) if option.kind is bool else ()


for _name, _experiment in EXPERIMENTS.items():
    add(_name, _experiment)
