"""The command line: ``trueline --help``."""

import sys

__all__ = ["main"]

# What the command line is built on, as the extra `cli` has it. By name, because the name of an
# extra means something only where this package was installed from.
_PACKAGES = '"rich>=13" "typer>=0.12" "pyarrow>=16"'


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] == ["--version"]:  # which needs nothing else
        from trueline import __version__

        print(f"trueline {__version__}")
        raise SystemExit(0)
    try:
        import rich  # noqa: F401  # what the extra brings must be there
        import typer  # noqa: F401
    except ImportError as error:
        print(
            f"trueline: the command line needs {error.name}, which is not installed. "
            f"Install it with: pip install {_PACKAGES}",
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    from trueline.cli._app import app
    from trueline.cli._errors import run

    run(app)
