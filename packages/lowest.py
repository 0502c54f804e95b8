"""The lowest versions that pyproject.toml allows, in an environment of their own.

    python packages/lowest.py make          # .venvs/lowest, with all extras
    python packages/lowest.py test          # some tests of every package: five minutes
    python packages/lowest.py test --all    # all tests

`make lowest` makes it and runs some tests. pip chooses the versions of packages that pyproject.toml
does not name. Only the standard library is used: it runs before there is any environment.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence

import environments

NAME = "lowest"
CONSTRAINTS = environments.ENVIRONMENTS / f"{NAME}.txt"

#: A requirement with one lower bound, which may have extras: dask[dataframe]>=2025.7
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(\[[\w,-]+\])?>=(?P<version>\d[\w.]*)")

#: Tests that run in a few minutes and together use every package that has a bound.
SOME = (
    "README.md",
    "tests/cli/test_commands.py",
    "tests/cli/test_escapes.py",
    "tests/cli/test_extras.py",
    "tests/clusters/test_dask.py",
    "tests/displays/test_calibration.py",
    "tests/displays/test_intervals.py",
    "tests/distributions/test_reference.py",
    "tests/estimators/test_frames.py",
    "tests/estimators/test_scikit_learn.py",
    "tests/export",
    "tests/test_docs.py::test_the_snippets_of_a_page[large-data.md]",
    "tests/test_docs.py::test_the_snippets_of_a_page[streams.md]",
    "tests/interop",
    "tests/inventory/test_environment.py",
    "tests/laws",
    "tests/metrics/test_scores.py",
    "tests/models/test_persistence.py",
    "tests/tracking",
)
#: Tests of the extras that `make test` leaves to the environments of packages/*.txt.
OTHERS = ("packages/test_mlflow.py", "packages/test_spark.py")
#: mlflow-skinny leaves out what its database needs. MLflow 3.0 imports a name that SQLAlchemy 2.1
#: no longer has.
DATABASE = ("alembic", "sqlalchemy<2.1")

# Old versions warn about the newer packages that they stand on. What fails a test is a warning of
# ours, or one that is raised at a line of ours.
_FILTERS = "filterwarnings=default\nerror:::trueline\nerror::trueline.CalibrationWarning"


def project() -> dict[str, list[str]]:
    """Return the requirements of pyproject.toml by extra; those of the core are under ""."""
    text = (environments.ROOT / "pyproject.toml").read_text("utf-8")
    found = tomllib.loads(text)["project"]
    return {"": found["dependencies"], **found["optional-dependencies"]}


def bounds(requirements: dict[str, list[str]]) -> dict[str, str]:
    """Return the lowest version of every package; raise if one has none, or two."""
    found: dict[str, str] = {}
    for extra, wanted in requirements.items():
        for requirement in wanted:
            match = _REQUIREMENT.fullmatch(requirement)
            if match is None:
                raise ValueError(f"{requirement!r} of {extra!r} is not of the form name>=version.")
            name, version = match["name"], match["version"]
            if found.setdefault(name, version) != version:
                raise ValueError(f"{name} has two lower bounds: {found[name]} and {version}.")
    return found


def make() -> None:
    """Make the environment, or bring it up to date."""
    requirements = project()
    pins = [f"{name}=={version}" for name, version in bounds(requirements).items()]
    environments.create(NAME)
    CONSTRAINTS.write_text("\n".join(pins) + "\n", "utf-8")
    print(f"installing {', '.join(pins)} into .venvs/{NAME}: two to seven minutes", flush=True)
    # The documentation is built with the newest versions of its tools.
    extras = ",".join(extra for extra in requirements if extra not in {"", "docs"})
    # Python compiles what is imported; compiling everything takes minutes.
    options = ("--no-compile", "-c", str(CONSTRAINTS))
    failed = environments.pip(NAME, *options, *DATABASE, "-e", f".[{extras}]")
    if failed.returncode:
        sys.exit(f"the lowest versions do not install together: {failed.stderr.strip()}")
    environments.finish(NAME, {})


def test(arguments: Sequence[str], *, everything: bool) -> int:
    """Run tests in the environment; return pytest's exit code."""
    settings = {**os.environ, "OMP_NUM_THREADS": "1"}

    def run(*options: str) -> int:
        command = [str(environments.python(NAME)), "-m", "pytest", "-q", *options]
        return subprocess.run(command, cwd=environments.ROOT, env=settings, check=False).returncode

    paths = () if everything else SOME
    code = run("-o", _FILTERS, "-p", "no:cacheprovider", "--dist", "loadgroup", *arguments, *paths)
    # The conftest of these tests knows only the environments of packages/*.txt. They run in one
    # process, because Spark starts a JVM in each.
    others = run("-c", "packages/pytest.ini", "--noconftest", *OTHERS, "-p", "no:xdist")
    return max(code, others)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("make", "test"))
    parser.add_argument("--all", action="store_true", help="run all tests")
    options, rest = parser.parse_known_args()
    if options.what == "make":
        if rest or options.all:
            parser.error("make takes no options.")
        make()
        return
    if not environments.ready(NAME).exists():
        parser.error(f".venvs/{NAME} is not made yet; run: make lowest.")
    sys.exit(test(rest, everything=options.all))


if __name__ == "__main__":
    main()
