"""Which tests run in which environment: those of the packages that its list names."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import environments
import pytest

HERE = Path(__file__).parent

#: Packages that a file needs, where its name does not say so.
NEEDS = {
    "test_arviz": ("arviz", "xarray"),
    "test_browser": ("playwright",),
    "test_compare": ("catboost", "lightgbm", "ngboost", "quantile-forest", "skpro", "xgboost"),
    "test_frames": ("polars", "pyarrow"),
    "test_gaussian_process": (),
    "test_installed": (),
    "test_recipes": (),
    "test_spark": ("pandas", "pyarrow", "pyspark"),
}


def environment() -> str:
    """Return the name of the environment that runs this."""
    name = os.environ.get("TRUELINE_ENVIRONMENT") or Path(sys.prefix).name
    if name not in environments.names():
        pytest.exit(
            f"these tests run in the environments of {', '.join(environments.names())}, not in "
            f"{sys.prefix}; run: make packages",
            returncode=4,
        )
    return name


def needs(stem: str) -> tuple[str, ...]:
    """Packages that a file is about: test_quantile_forest needs quantile-forest."""
    if stem in NEEDS:
        return NEEDS[stem]
    words = stem.removeprefix("test_").replace("_", "-")
    lists = (environments.listed(name) for name in environments.names())
    known = set(environments.BASE).union(*lists)
    # test_ngboost_distributions is about ngboost.
    return tuple(p for p in known if f"{words}-".startswith(f"{p}-")) or (words,)


def module(package: str) -> str:
    """Name that a package is imported by."""
    return {"scikit-learn": "sklearn"}.get(package, package.replace("-", "_"))


NAME = environment()
ABSENT = environments.absent(NAME)
PACKAGES = (*environments.listed(NAME), *environments.BASE)


def runs_here(stem: str) -> bool:
    """Whether this environment runs a file."""
    needed = set(needs(stem))
    if NAME == environments.SYSTEM:
        return needed <= set(PACKAGES) and not needed <= set(environments.BASE)
    return needed <= set(PACKAGES)


# Not skipped but left out: another environment runs them.
collect_ignore = [path.name for path in HERE.glob("test_*.py") if not runs_here(path.stem)]


class Absent(pytest.File):
    """A file whose package cannot be had, which is skipped with the reason."""

    def collect(self):
        lacking = [package for package in needs(self.path.stem) if package in ABSENT]
        pytest.skip(
            "; ".join(f"{package} cannot be installed: {ABSENT[package]}" for package in lacking),
            allow_module_level=True,
        )


def pytest_pycollect_makemodule(module_path, parent):
    if set(needs(module_path.stem)) & set(ABSENT):
        return Absent.from_parent(parent, path=module_path)
    return None


def pytest_report_header():
    versions = environments.measured(NAME)
    said = ", ".join(f"{package} {version}" for package, version in versions.items())
    return f"environment {NAME}: {said}"
