"""How the pages of the experiments put numbers and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable
from textwrap import fill


def number(value: float, error: float | None = None, decimals: int | None = None) -> str:
    """Write a value, to four figures unless told, and its standard error to as many decimals."""
    places = four_figures(value) if decimals is None else decimals
    text = f"{value:,.{places}f}"
    return text if error is None else f"{text} ± {error:,.{places}f}"


def four_figures(value: float) -> int:
    """How many decimals make four figures."""
    known = 0.0 < abs(value) < math.inf
    return max(3 - math.floor(math.log10(abs(value))), 0) if known else 3


def share(value: float, error: float | None = None, decimals: int = 1) -> str:
    """Write a share in percent, with its standard error."""
    told = number(100.0 * value, None if error is None else 100.0 * error, decimals)
    return f"{told}%"


def plain(value: float | None) -> str:
    """Write a number for a file, as exactly as it is known."""
    return "" if value is None else repr(value)


def change(ratio: float) -> str:
    """Write how much lower or higher something is."""
    percent = 100.0 * (ratio - 1.0)
    return f"{abs(percent):.1f}% {'lower' if percent < 0 else 'higher'}"


def count(n: int, noun: str) -> str:
    """Write how many there are."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def listed(items: Iterable[str]) -> str:
    """Join as in a sentence."""
    *rest, last = items
    return f"{', '.join(rest)} and {last}" if rest else last


def paragraph(text: str) -> str:
    """Break a text into lines."""
    return fill(text, 100, break_on_hyphens=False) + "\n"


def bullet(text: str) -> str:
    """Break an item of a list into lines."""
    return fill(text, 100, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
