"""Wording that error messages and warnings share."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any


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
    """Names with commas, the first few of many."""
    shown = list(names)
    rest = f", ... ({len(shown)} in all)" if len(shown) > most else ""
    return ", ".join(shown[:most]) + rest


def reason(error: BaseException) -> str:
    """Return the first line of a library's message, without its full stop."""
    text: Any = str(error).strip().splitlines()
    return text[0].rstrip(".") if text else type(error).__name__
