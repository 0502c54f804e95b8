"""torch, imported when a network is first trained or asked."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType


def core(name: str) -> ModuleType:
    """Import a module of this package that stands on torch, or say how to get it."""
    for package in ("torch", "safetensors"):
        try:
            import_module(package)
        except ImportError as error:
            raise ImportError(
                f"trueline.models needs {package}, which cannot be imported ({error}). "
                f'Install it with: pip install "trueline[torch]"'
            ) from error
    return import_module(f"trueline.models.{name}")
