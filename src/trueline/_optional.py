"""Optional libraries, imported by the function that needs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from trueline._messages import MissingPackageError


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
