"""Environments for the packages that trueline reads, whose pins disagree with one another.

    python packages/environments.py make trees     # .venvs/trees, with packages/trees.txt
    python packages/environments.py test           # run packages/test_*.py in all of them
    python packages/environments.py list           # package | version, of all of them

`make packages` does all three. The newest versions that install together are taken; where the list
does not install as a whole, its packages are tried one by one, and `.ready` remembers why one could
not be had. Only the standard library is used: it runs before there is any environment.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
ENVIRONMENTS = ROOT / ".venvs"

#: What every environment has, because trueline or all lists stand on it; versions differ.
BASE = ("pandas", "scikit-learn", "scipy")
#: The environment of what needs a program of the system: Java for Spark, a browser for the report.
#: Its packages make no forecasts, so that none of the other tests run there.
SYSTEM = "system"

# Asked of an environment's own Python, because only that one sees what is installed there.
VERSIONS = """
import json, sys
from importlib import metadata
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


def names() -> list[str]:
    """Names of the environments."""
    return sorted(path.stem for path in HERE.glob("*.txt"))


def listed(name: str) -> list[str]:
    """Packages that an environment is for."""
    lines = (HERE / f"{name}.txt").read_text("utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def python(name: str) -> Path:
    """Return the interpreter of an environment."""
    return ENVIRONMENTS / name / ("Scripts" if os.name == "nt" else "bin") / "python"


def ready(name: str) -> Path:
    """Return the file that says that an environment is whole; it holds what could not be had."""
    return ENVIRONMENTS / name / ".ready"


def absent(name: str) -> dict[str, str]:
    """Packages that could not be installed into an environment, and why."""
    text = ready(name).read_text("utf-8")
    return json.loads(text) if text.strip() else {}


def pip(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Install into an environment."""
    command = [str(python(name)), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    command += ["--upgrade", "-c", str(ROOT / "constraints" / "cpu.txt"), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def reason(failed: subprocess.CompletedProcess[str]) -> str:
    """Return the line of pip that says why."""
    lines = [line.strip() for line in failed.stderr.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines or ["pip gave no reason"]
    return errors[-1].removeprefix("ERROR: ")


def create(name: str) -> None:
    """Create an environment unless it is there and usable; what it holds is no longer ready."""
    usable = [str(python(name)), "-m", "pip", "--version"]
    try:
        broken = subprocess.run(usable, capture_output=True, check=False).returncode != 0
    except OSError:  # there is none yet, or its Python is gone
        broken = True
    if broken:
        subprocess.run([sys.executable, "-m", "venv", "--clear", ENVIRONMENTS / name], check=True)
    ready(name).unlink(missing_ok=True)


def finish(name: str, missing: dict[str, str]) -> None:
    """Mark an environment as ready; `missing` names what could not be installed, and why."""
    part = ready(name).with_suffix(".part")
    part.write_text(json.dumps(missing, indent=1), "utf-8")
    part.replace(ready(name))


def make(name: str) -> None:
    """Make an environment, or bring it up to date."""
    create(name)
    wanted = listed(name)
    print(f"installing {', '.join(wanted)} into .venvs/{name} (a minute or two)", flush=True)
    base = ("-e", ".", "pytest>=8.3")
    missing: dict[str, str] = {}
    if pip(name, *base, *wanted).returncode:
        # Without the base nothing can be tested; that is not a package that cannot be had.
        if (failed := pip(name, *base)).returncode:
            sys.exit(f"trueline does not install into .venvs/{name}: {failed.stderr.strip()}")
        have: list[str] = []
        for package in wanted:
            # What is there already is named again, so that a later one cannot pull it down.
            if (failed := pip(name, *base, *have, package)).returncode:
                missing[package] = reason(failed)
                print(f"  {package} cannot be had: {missing[package]}", flush=True)
            else:
                have.append(package)
    finish(name, missing)


def test(name: str, arguments: Sequence[str]) -> int:
    """Run the tests of an environment's packages; return pytest's exit code."""
    print(f"\n---- {name}: {', '.join(listed(name))}", flush=True)
    command = [str(python(name)), "-m", "pytest", "-q", "-c", str(HERE / "pytest.ini"), str(HERE)]
    # One thread: the libraries that boost trees spin on each other where cores are few.
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "TRUELINE_ENVIRONMENT": name}
    # Libraries that leave files where they run (CatBoost, MLflow) leave them in the environment.
    return subprocess.run(
        [*command, *arguments], cwd=ENVIRONMENTS / name, env=settings, check=False
    ).returncode


def measured(name: str) -> dict[str, str]:
    """Version of every package of an environment; one that could not be had is left out."""
    command = [str(python(name)), "-c", VERSIONS, *listed(name), *BASE]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(found.stdout)


def table() -> str:
    """What was measured, in Markdown."""
    lines = ["| package | version | environment |", "|---|---|---|"]
    for name in names():
        versions, missing = measured(name), absent(name)
        for package in dict.fromkeys((*listed(name), *BASE)):
            version = versions.get(package)
            said = version or f"NOT INSTALLED: {missing.get(package, 'pip gave no reason')}"
            lines.append(f"| {package} | {said} | {name} |")
    return "\n".join(lines)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("make", "test", "list"))
    parser.add_argument("names", nargs="*", metavar="name", help="all environments by default")
    options, rest = parser.parse_known_args()
    if unknown := sorted(set(options.names) - set(names())):
        parser.error(f"there is no {unknown[0]}; expected one of {', '.join(names())}.")
    chosen = options.names or names()
    if rest and options.what != "test":
        parser.error(f"{options.what} takes no {rest[0]}.")
    if options.what == "make":
        for name in chosen:
            make(name)
        return
    if unmade := [name for name in chosen if not ready(name).exists()]:
        parser.error(f".venvs/{unmade[0]} is not made yet; run: make packages.")
    if options.what == "list":
        print(table())
        return
    codes = [test(name, rest) for name in chosen]
    for name in chosen:
        for package, why in absent(name).items():
            print(f"SKIPPED, because it cannot be installed: {package} ({why})")
    sys.exit(max(codes))


if __name__ == "__main__":
    main()
