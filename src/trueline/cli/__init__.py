"""The command line: ``trueline --help``.

``command``, ``fail``, ``stopped`` and ``progress`` give other command lines the same manners.
"""

import sys

from trueline._progress import progress
from trueline.cli._errors import command, fail, stopped

__all__ = ["command", "fail", "main", "progress", "stopped"]

# The packages of the extra `cli`. They are named one by one, because "trueline[cli]" can only be
# installed where trueline comes from.
_PACKAGES = '"rich>=13.8" "typer>=0.26" "pyarrow>=17"'


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] == ["--version"]:  # needs no other package
        from trueline import __version__

        print(f"trueline {__version__}")
        raise SystemExit(0)
    try:
        import rich  # noqa: F401  # check that the extra is installed
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
