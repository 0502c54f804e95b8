"""All that the command line prints, made safe for a terminal."""

from __future__ import annotations

import json
import math
import sys
from typing import Any

from trueline._messages import printable


def print_line(text: object, *, error: bool = False) -> None:
    """Print one line; names in it cannot begin another.

    Parameters
    ----------
    text : object
    error : bool, default False
        Whether to print to standard error.
    """
    print(printable(text), file=sys.stderr if error else sys.stdout)


def print_lines(text: object, *, error: bool = False) -> None:
    """Print several lines; the names in them must have been made `printable` before."""
    print(printable(text, lines=True), file=sys.stderr if error else sys.stdout)


def print_json(document: dict[str, Any], *, error: bool = False) -> None:
    """Print a JSON object; numbers that are not finite, such as a log score, become null.

    An error is one line.
    """
    text = json.dumps(_plain(document), indent=None if error else 2, allow_nan=False)
    # The encoder escapes all other characters that are not printable.
    print(text.replace("\x7f", "\\u007f"), file=sys.stderr if error else sys.stdout)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
