"""torch and safetensors, imported when a network is first trained, used or loaded."""

from __future__ import annotations

from importlib import import_module

from trueline._messages import MissingPackageError


def require_torch() -> None:
    """Raise ImportError with the install command unless torch and safetensors can be imported."""
    for package in ("torch", "safetensors"):
        try:
            import_module(package)
        except ImportError as error:
            raise MissingPackageError(
                f"trueline.models needs {package}, which cannot be imported ({error}). "
                f'Install it with: pip install "trueline[torch]"'
            ) from error
