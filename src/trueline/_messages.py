"""Wording that error messages and warnings share, and the error about a missing package."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

#: What pip installs for each extra of pyproject.toml, in a checkout and anywhere else. The packages
#: are named one by one, because "trueline[onnx]" can only be installed where trueline comes from.
EXTRAS = {
    "cli": '"pyarrow>=17" "rich>=13.8" "typer>=0.26"',
    "dask": '"dask[dataframe]>=2025.7" "distributed>=2025.7" "pyarrow>=17"',
    "inventory": '"gymnasium>=1.0"',
    "mlflow": '"mlflow-skinny>=3"',
    "onnx": '"onnx>=1.17" "onnxruntime>=1.20"',
    "plots": '"matplotlib>=3.9"',
    "spark": '"pyspark[sql]>=4"',
    "torch": '"safetensors>=0.4.5" "torch>=2.13"',
}

# Options that name columns; Python takes them together, as `Columns`.
_COLUMNS = {"y", "mean", "std", "quantile_columns", "sample_columns"}
_COLUMNS |= {"kind", "lower", "upper", "coverage", "group", "weight", "x"}


@dataclass(frozen=True)
class Option:
    """An option that a message names, and the value to give it, if any.

    Messages keep it as data, so that each caller can spell it in its own way. `str` spells it as
    in Python.

    Examples
    --------
    >>> from trueline._messages import Option
    >>> str(Option("y", "net sales")), str(Option("force", True)), str(Option("separator"))
    ("Columns(y='net sales')", 'force=True', 'separator')
    """

    name: str
    value: str | float | bool | None = None

    def __str__(self) -> str:
        if self.name in _COLUMNS:
            return f"Columns({self.name}={'...' if self.value is None else repr(self.value)})"
        return self.name if self.value is None else f"{self.name}={self.value!r}"


#: A piece of a message: text, an option, or several pieces one after the other.
Part = str | Option | Sequence["Part"]
Spell = Callable[[Option], str]


def printable(text: object, *, lines: bool = False) -> str:
    r"""Return a text that is safe to print; what is not printable becomes an escape sequence.

    Names of columns, groups and files may hold characters that a terminal obeys: some fill the
    clipboard, move the cursor, or turn the direction of text. `repr` escapes the same characters.

    Parameters
    ----------
    text : object
    lines : bool, default False
        Whether to keep the ends of lines, in a text of several lines.

    Examples
    --------
    >>> from trueline._messages import printable
    >>> print(printable("north\x1b[2J"), printable("a\nb"), printable("süd 南"))
    north\x1b[2J a\nb süd 南
    """
    shown = str(text)
    if shown.isprintable():
        return shown
    return "".join(
        c if c.isprintable() or (lines and c == "\n") else c.encode("unicode_escape").decode()
        for c in shown
    )


class Worded:
    """Mixin of errors and warnings whose arguments are the parts of their message.

    The message is `printable`, whatever names from files it holds.

    Examples
    --------
    >>> from trueline._messages import Option
    >>> from trueline.files import FileError
    >>> error = FileError("a.csv has no column 'y'. Name one with ", Option("y"), ".")
    >>> print(error)
    a.csv has no column 'y'. Name one with Columns(y=...).
    >>> error.text(lambda option: f"--{option.name}")
    "a.csv has no column 'y'. Name one with --y."
    """

    args: tuple[Any, ...]

    def text(self, spell: Spell = str) -> str:
        """Return the message, with its options spelled by this function."""
        return _text(self.args, spell)

    def __str__(self) -> str:
        return self.text()


def _text(part: Any, spell: Spell) -> str:
    if isinstance(part, list | tuple):
        return "".join(_text(piece, spell) for piece in part)
    return printable(spell(part) if isinstance(part, Option) else part)


def joined(parts: Iterable[Part], between: str) -> Part:
    """Return parts with a text between them."""
    pieces = [piece for part in parts for piece in (between, part)]
    return pieces[1:]


class InputError(Worded, ValueError):
    """An input that cannot be used; the message says how to fix it."""


class MissingPackageError(ImportError):
    """A package that a feature needs is not installed; the message says how to install it."""


def library(name: str, needed_by: str, install: str | None = None) -> Any:
    """Import an optional library, or raise an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.split(".", maxsplit=1)[0]
        raise MissingPackageError(
            f"{needed_by} needs {package}, which cannot be imported ({error}). "
            f"Install it with: pip install {install or package}"
        ) from error


def did_you_mean(name: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return a hint at the known name that is closest, or nothing."""
    names = list(known)
    same = [k for k in names if k.strip().lower() == name.strip().lower()]
    close = same or get_close_matches(name, names, n=1, cutoff=likeness)
    return f" Did you mean {close[0]!r}?" if close else ""


def count(n: int, noun: str) -> str:
    """Return a number with its noun: 1 row, 2,000 rows."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def listed(names: Iterable[str], most: int = 10) -> str:
    """Return names with commas between them; only the first ones if there are many."""
    shown = list(names)
    rest = f", ... ({len(shown)} in all)" if len(shown) > most else ""
    return ", ".join(shortened(printable(name)) for name in shown[:most]) + rest


def shortened(text: str, most: int = 60) -> str:
    """Return a text, or its start if it is longer than this number of characters."""
    return text if len(text) <= most else text[: most - 3] + "..."


def reason(error: BaseException) -> str:
    """Return the first line of an error's message, without its full stop."""
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__


def percent(share: float) -> str:
    """Return a share as a percentage, without needless digits: 90%, 99.5%."""
    return f"{100 * share:.10g}%"
