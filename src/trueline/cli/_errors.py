"""What a user did wrong, in one line; what we did wrong, with its traceback."""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

MISTAKE = 2
_INTERRUPTED = 130  # 128 and the number of the signal, as shells have it


def command(function: Callable[P, T]) -> Callable[P, T]:
    """Turn errors in a command's input into a line and exit code 2."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            with _sigterm_as_interrupt():
                result = function(*args, **kwargs)
                sys.stdout.flush()
                return result
        except BrokenPipeError:
            # Whoever read the output has seen enough; what is left of it goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise SystemExit(0) from None
        except KeyboardInterrupt:
            stopped("nothing was left behind")
        except Exception as error:
            if not _is_mistake(error):
                raise
            fail(str(error), as_json=bool(kwargs.get("json")))

    return run


def run(app: Any) -> NoReturn:
    """Run the command line; with --json its complaints about options are JSON as well."""
    if "--json" not in sys.argv:
        app(prog_name="trueline")
        raise SystemExit(0)
    import typer

    # The base of all errors in options. Typer has it from click or, later, as its own.
    usage: Any = typer.BadParameter.__base__
    try:
        code = app(prog_name="trueline", standalone_mode=False)
    except usage as error:
        fail(error.format_message(), as_json=True)
    raise SystemExit(code or 0)


def _is_mistake(error: Exception) -> bool:
    """Whether the user can mend it."""
    if isinstance(error, ImportError):
        return "pip install" in str(error)  # an extra that is missing, not a module of ours
    # Only a command that works on files has loaded what is slow to load.
    files = sys.modules.get("trueline.files")
    return files is not None and isinstance(error, files.FileError)


def fail(message: str, *, as_json: bool = False) -> NoReturn:
    """Say what is wrong, for people or on one line of JSON, and end with exit code 2."""
    print(json.dumps({"error": message}) if as_json else f"error: {message}", file=sys.stderr)
    raise SystemExit(MISTAKE)


def stopped(state: str) -> NoReturn:
    """Say in what state an interrupted command leaves things, and end as shells expect."""
    print(f"stopped; {state}.", file=sys.stderr)
    raise SystemExit(_INTERRUPTED) from None


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Let a request to end clean up as Ctrl-C does."""

    def stop(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def notes() -> Iterator[list[str]]:
    """Collect warnings about weak results; they are told at the end, once each."""
    from trueline._validation import CalibrationWarning

    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", CalibrationWarning)
        yield found
    found += dict.fromkeys(str(warning.message) for warning in caught)


def tell_notes(found: list[str]) -> None:
    """Print notes beside the results."""
    for note in found:
        print(f"note: {note}", file=sys.stderr)
