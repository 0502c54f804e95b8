"""The command line: ``trueline --help``."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line."""
    try:
        import rich  # noqa: F401  # what the extra brings must be there
        import typer  # noqa: F401
    except ImportError as error:
        print(
            f"trueline: the command line needs {error.name}, which is not installed. "
            f'Install it with: pip install "trueline[cli]"',
            file=sys.stderr,
        )
        raise SystemExit(2) from None
    from trueline.cli._app import app

    app(prog_name="trueline")
