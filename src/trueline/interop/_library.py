"""Other libraries, imported when they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from trueline._messages import MissingPackageError


def library(name: str, what: str, install: str | None = None) -> Any:
    """Import a library that a function stands on, or say how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.split(".", maxsplit=1)[0]
        raise MissingPackageError(
            f"{what} needs {package}, which cannot be imported ({error}). "
            f"Install it with: pip install {install or package}"
        ) from error
