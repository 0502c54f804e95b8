"""The documentation: an environment of its own, the build, and a check of what was built.

    python packages/docs.py make     # .venvs/docs, with the extra docs
    python packages/docs.py build    # docs/_build/html; a warning is an error
    python packages/docs.py check    # public names, local links and anchors of the built pages

`make docs` does all three. The build needs no network: nothing is fetched from other sites, and the
pages load no script, style or font from elsewhere. Only the standard library is used here, because
this script runs before there is any environment.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import environments

NAME = "docs"
SOURCE = environments.ROOT / "docs"
HTML = SOURCE / "_build" / "html"

# Run by the environment's own Python, where trueline is installed.
PUBLIC = """
import json
from importlib import import_module
from types import ModuleType
import trueline as tl
names = [f"trueline.{name}" for name in tl.__all__]
for module in [*tl._MODULES, "clusters.dask", "clusters.spark"]:
    found = import_module(f"trueline.{module}")
    for name in found.__all__:
        value = getattr(found, name)
        if getattr(tl, name, None) is not value and not isinstance(value, ModuleType):
            names.append(f"trueline.{module}.{name}")
print(json.dumps(names))
"""

#: Attributes that make a browser load or open something.
LINKS = {"a": "href", "link": "href", "script": "src", "img": "src", "source": "srcset"}


def make() -> None:
    """Make the environment, or bring it up to date."""
    environments.create(NAME)
    print(f"installing the documentation tools into .venvs/{NAME} (a minute or two)", flush=True)
    if (failed := environments.pip(NAME, "-e", ".[docs]")).returncode:
        sys.exit(f"the extra docs does not install into .venvs/{NAME}: {failed.stderr.strip()}")
    environments.finish(NAME, {})


def build() -> int:
    """Build the pages; return the exit code of Sphinx."""
    command = [str(environments.python(NAME)), "-m", "sphinx", "-b", "html", "-W", "--keep-going"]
    # One thread: the examples are small, and threads would wait for each other.
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    command += ["-q", str(SOURCE), str(HTML)]
    return subprocess.run(command, cwd=environments.ROOT, env=settings, check=False).returncode


class Page(HTMLParser):
    """Links of a page, and the places in it that links may point to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[str, str]] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect what a tag links to, and what it is called."""
        found = dict(attrs)
        self.anchors |= {value for key in ("id", "name") if (value := found.get(key))}
        if link := found.get(LINKS.get(tag, "")):
            self.links.append((tag, link))


def faults_of(path: Path, page: Page, pages: dict[Path, Page]) -> list[str]:
    """Links of a page that lead nowhere, and what it loads from other sites."""
    faults = []
    for tag, link in page.links:
        parts = urlsplit(link)
        if parts.scheme in {"http", "https"} or link.startswith("//"):
            if tag not in {"a"}:
                faults.append(f"{path.relative_to(HTML)} loads {link} from another site")
            continue
        if parts.scheme:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.is_file():
            faults.append(f"{path.relative_to(HTML)}: there is no {link}")
        elif (
            tag == "a"
            and parts.fragment
            and target in pages
            and unquote(parts.fragment) not in pages[target].anchors
        ):
            faults.append(f"{path.relative_to(HTML)}: {link} has no such anchor")
    return faults


def check() -> list[str]:
    """Return what is wrong with the built pages, one line each."""
    files = (path for path in HTML.rglob("*.html") if "_static" not in path.parts)
    pages = {path.resolve(): Page(path.read_text("utf-8")) for path in files}
    if not pages:
        return [f"there are no pages in {HTML.relative_to(environments.ROOT)}; run: make docs"]
    faults = [fault for path, page in pages.items() for fault in faults_of(path, page, pages)]
    command = [str(environments.python(NAME)), "-c", PUBLIC]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    anchors = set().union(*(page.anchors for page in pages.values()))
    names = json.loads(done.stdout)
    faults += [f"{name} is not in the API reference" for name in names if name not in anchors]
    print(f"{len(pages)} pages, {sum(len(page.links) for page in pages.values())} links", end="; ")
    print(f"{len(names)} public names")
    return sorted(set(faults))


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("make", "build", "check"))
    what = parser.parse_args().what
    if what == "make":
        make()
        return
    if not environments.ready(NAME).exists():
        parser.error(f".venvs/{NAME} is not made yet; run: make docs.")
    if what == "build":
        sys.exit(build())
    if faults := check():
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
