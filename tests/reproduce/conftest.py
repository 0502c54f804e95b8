"""The command line in a folder of its own, as in the tests of its other commands."""

from tests.cli.conftest import folder, trueline  # noqa: F401
