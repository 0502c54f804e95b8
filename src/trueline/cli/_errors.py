"""Mistakes of the user are reported in one line, errors of the library with a traceback."""

from __future__ import annotations

import functools
import io
import os
import shlex
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn, ParamSpec, TypeVar

from trueline._messages import InputError, MissingPackageError, Option, Worded, printable
from trueline.cli._terminal import print_json, print_line, print_lines

P = ParamSpec("P")
T = TypeVar("T")

MISTAKE = 2
_SIGNALLED = 128  # plus the number of the signal is the exit code, as in shells


class SignalledError(KeyboardInterrupt):
    """The process was asked to end by another signal than Ctrl-C."""

    def __init__(self, signum: int) -> None:
        super().__init__()
        self.signum = signum


def command(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a command: errors in its input become one line and exit code 2."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            with _signals_as_interrupts():
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
    try:
        _run(app)
    except SystemExit as done:
        if isinstance(done.code, int) and done.code > _SIGNALLED:
            # A thread of Arrow may still read a file of Python's. If it finds the interpreter gone,
            # it aborts the process, with an exit code of its own.
            for stream in (sys.stdout, sys.stderr):
                with suppress(OSError):
                    stream.flush()
            os._exit(done.code)
        raise


def _run(app: Any) -> NoReturn:
    import typer

    # Arguments may be names of files, and tracebacks may hold any text.
    sys.excepthook = _print_traceback
    with suppress(
        AttributeError, io.UnsupportedOperation
    ):  # another stream may have been put there
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    # The base class of errors in options: click's, or Typer's own in later versions.
    usage: Any = typer.BadParameter.__base__
    try:
        code = typer.main.get_command(app)(prog_name="trueline", standalone_mode=False)
    except usage as error:
        error.message = printable(error.message)  # it may quote arguments
        if "--json" in sys.argv:
            fail(error.format_message(), as_json=True)
        text = io.StringIO()
        error.show(file=text)
        print_lines(text.getvalue().rstrip("\n"), error=True)
        raise SystemExit(error.exit_code) from None
    except typer.Abort:
        stopped("nothing was left behind")
    raise SystemExit(code or 0)


def _print_traceback(kind: type[BaseException], error: BaseException, trace: Any) -> None:
    lines = traceback.format_exception(kind, error, trace)
    print_lines("".join(lines).rstrip("\n"), error=True)


def message(error: object) -> str:
    """Return the message of an error or a warning, with options as they are given in a shell."""
    return error.text(_spell) if isinstance(error, Worded) else str(error)


def _spell(option: Option) -> str:
    if option.name in ("to_json", "to_bytes"):
        return "trueline fit"
    flag = "-o" if option.name == "out" else "--" + option.name.replace("_", "-")
    if option.value is None or isinstance(option.value, bool):
        return flag
    # A shell needs no quotes around a comma, but a sentence does; a tab has a name.
    value = str(option.value)
    shown = {"\t": "tab", ",": "','"}.get(value) or shlex.quote(value)
    return f"{flag} {shown}"


def fail(message: str, *, as_json: bool = False, below: str = "") -> NoReturn:
    """Print an error, as text or as one line of JSON, and exit with code 2.

    Lines of our own, such as a list of what there is, go `below` the text.
    """
    if as_json:
        print_json({"error": message}, error=True)
    else:
        print_lines(f"error: {printable(message)}{below}", error=True)
    raise SystemExit(MISTAKE)


def stopped(state: str) -> NoReturn:
    """Print the state that an interrupted command leaves behind, and exit as shells expect.

    It is called where the KeyboardInterrupt is handled.
    """
    signum = getattr(sys.exception(), "signum", signal.SIGINT)
    with suppress(OSError):  # a terminal that was closed is no longer there
        print_line(f"stopped; {state}.", error=True)
    raise SystemExit(_SIGNALLED + signum) from None


@contextmanager
def _signals_as_interrupts() -> Iterator[None]:
    """Handle SIGTERM and SIGHUP like Ctrl-C, so that all of them clean up."""

    def stop(signum: int, _: FrameType | None) -> NoReturn:
        for other in before:
            signal.signal(other, signal.SIG_IGN)  # a second one must not end the cleaning up
        raise SignalledError(signum)

    both = [getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP")]
    # What the caller ignores stays ignored: nohup does so with SIGHUP.
    before = {s: signal.getsignal(s) for s in both if s is not None}
    before = {s: handler for s, handler in before.items() if handler is not signal.SIG_IGN}
    try:
        for signum in before:
            signal.signal(signum, stop)
        yield
    finally:
        for signum, handler in before.items():
            signal.signal(signum, handler)


@contextmanager
def notes() -> Iterator[list[str]]:
    """Collect the different warnings about results and files, to be shown at the end."""
    from trueline._partial import LeftoverWarning
    from trueline._validation import CalibrationWarning

    found: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        for kind in (CalibrationWarning, LeftoverWarning):
            warnings.simplefilter("always", kind)
        yield found
    found += dict.fromkeys(message(warning.message) for warning in caught)


def print_notes(found: list[str]) -> None:
    """Print notes to standard error."""
    for note in found:
        print_line(f"note: {note}", error=True)
