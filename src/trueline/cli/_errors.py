"""Mistakes of the user are reported in one line, errors of the library with a traceback."""

from __future__ import annotations

import functools
import json
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, ParamSpec, TypeVar

from trueline._messages import InputError, MissingPackageError, Option, Worded

P = ParamSpec("P")
T = TypeVar("T")

MISTAKE = 2
_INTERRUPTED = 130  # 128 plus the number of the signal, as in shells


def command(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a command: errors in its input become one line and exit code 2."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            with _sigterm_as_interrupt():
                result = function(*args, **kwargs)
                sys.stdout.flush()
                return result
        except BrokenPipeError:
            # The reader of the output has closed it, so the rest is discarded.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0) from None
        except KeyboardInterrupt:
            stopped("nothing was left behind")
        except (InputError, MissingPackageError) as error:
            fail(message(error), as_json=bool(kwargs.get("json")))

    return run


def run(app: Any) -> NoReturn:
    """Run the command line; with --json, errors in its options are JSON as well."""
    if "--json" not in sys.argv:
        app(prog_name="trueline")
        raise SystemExit(0)
    import typer

    # The base class of errors in options: click's, or Typer's own in later versions.
    usage: Any = typer.BadParameter.__base__
    try:
        code = app(prog_name="trueline", standalone_mode=False)
    except usage as error:
        fail(error.format_message(), as_json=True)
    raise SystemExit(code or 0)


def message(error: object) -> str:
    """Return the message of an error or a warning, with options as they are given in a shell."""
    return error.text(_spell) if isinstance(error, Worded) else str(error)


def _spell(option: Option) -> str:
    if option.name in ("to_json", "to_bytes"):
        return "trueline fit"
    flag = "-o" if option.name == "out" else "--" + option.name.replace("_", "-")
    if not isinstance(option.value, str):
        return flag
    # A shell needs no quotes around a comma, but a sentence does; a tab has a name.
    shown = {"\t": "tab", ",": "','"}.get(option.value) or shlex.quote(option.value)
    return f"{flag} {shown}"


def fail(message: str, *, as_json: bool = False) -> NoReturn:
    """Print an error, as text or as one line of JSON, and exit with code 2."""
    print(json.dumps({"error": message}) if as_json else f"error: {message}", file=sys.stderr)
    raise SystemExit(MISTAKE)


def stopped(state: str) -> NoReturn:
    """Print the state that an interrupted command leaves behind, and exit as shells expect."""
    print(f"stopped; {state}.", file=sys.stderr)
    raise SystemExit(_INTERRUPTED) from None


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, so that both clean up."""

    def stop(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def notes() -> Iterator[list[str]]:
    """Collect the different warnings about weak results, to be shown at the end."""
    from trueline._validation import CalibrationWarning

    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CalibrationWarning)
        yield found
    found += dict.fromkeys(message(warning.message) for warning in caught)


def print_notes(found: list[str]) -> None:
    """Print notes to standard error."""
    for note in found:
        print(f"note: {note}", file=sys.stderr)
