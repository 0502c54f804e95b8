"""Build the wheel and the sdist, install each in an empty environment, and use it.

    python packages/build.py    # dist/*.whl and dist/*.tar.gz; a minute or two

`make build` does it. Only the standard library is used: it runs before there is any environment.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import environments

NAME = "build"
DIST = environments.ROOT / "dist"

#: A calibrated forecast, a stored map, and the data that the package has to carry along.
SMOKE = """
import pathlib
import numpy as np
import trueline as tl

rng = np.random.default_rng(0)
y, F = 4.0 * rng.normal(size=1000), tl.Normal(np.zeros(1000), 1.0)
R = tl.Isotonic().fit(y[:500], F[:500])
R.to_json("map.json")
held = tl.coverage(y[500:], tl.load("map.json").transform(F[500:]), 0.9)
assert 0.85 < held < 0.95, held
tl.report(y[500:], F[500:], "report.html")
folder = pathlib.Path(tl.__file__).parent
assert (folder / "py.typed").exists()
assert "site-packages" in str(folder), folder
print(f"trueline {tl.__version__}: 90% intervals hold {held:.1%}")
"""


def run(name: str, *arguments: str | Path, cwd: Path = environments.ROOT) -> None:
    """Run the Python of an environment; end with its output if it fails."""
    command = [str(environments.python(name)), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout}{done.stderr}")
    print(done.stdout, end="", flush=True)


def build() -> list[Path]:
    """Build both files; return their paths."""
    environments.create(NAME)
    if (failed := environments.pip(NAME, "build")).returncode:
        sys.exit(f"build does not install: {failed.stderr.strip()}")
    for old in DIST.glob("trueline-*"):
        old.unlink()
    run(NAME, "-m", "build", "-q", "--outdir", DIST, environments.ROOT)
    return sorted(DIST.glob("trueline-*"))


def use(file: Path) -> None:
    """Install a file with the extras of a first use into an empty environment, and use it."""
    name = "wheel" if file.suffix == ".whl" else "sdist"
    environments.create(name)
    if (failed := environments.pip(name, "--no-compile", f"{file}[cli,plots]")).returncode:
        sys.exit(f"{file.name} does not install: {failed.stderr.strip()}")
    with tempfile.TemporaryDirectory() as folder:
        run(name, "-c", SMOKE, cwd=Path(folder))
        run(name, "-m", "trueline", "--version", cwd=Path(folder))


if __name__ == "__main__":
    for built in build():
        print(f"{built.name}: {built.stat().st_size / 1e6:.1f} MB", flush=True)
        use(built)
