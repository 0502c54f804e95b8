"""Every snippet in docs/*.md runs, in the order of its page, and prints what the page shows.

Blocks of ``python`` share one namespace per page, blocks of ``sh`` run in the same folder, and a
block of ``text`` right after one of them is its output. Other languages (``console``) are not run.
docs/packages.md needs packages that disagree with each other; `make packages` runs its recipes.
"""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
ELSEWHERE = {"packages.md", "releasing.md"}
PAGES = sorted(path.name for path in DOCS.glob("*.md") if path.name not in ELSEWHERE)
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: Numbers are shown as they are; "..." stands for what differs between runs.
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def shortened(text: str) -> str:
    """Cut numbers to twelve digits; those that follow depend on the processor."""
    return re.sub(r"\d+\.\d{10,}", lambda number: f"{float(number[0]):.12g}", text)


def snippets(text: str) -> list[tuple[str, str, str | None]]:
    """Language, code and shown output of each snippet of a page."""
    found = list(BLOCK.finditer(text))
    result = []
    for match, following in zip_longest(found, found[1:]):
        shown = None
        if following is not None and following[1] == "text":
            between = text[match.end() : following.start()]
            shown = following[2] if not between.strip() else None
        if match[1] in {"python", "sh"}:
            result.append((match[1], match[2], shown))
    return result


def run_python(code: str, names: dict[str, object], page: str) -> str:
    """Run a block; return what it prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(code, f"docs/{page}", "exec"), names)
    return out.getvalue()


def run_shell(code: str, folder: Path) -> str:
    """Run a block with the command `trueline` of this environment; return what it prints."""
    command = folder / ".bin" / "trueline"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m trueline "$@"\n')
    command.chmod(0o755)
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-e", "-c", code],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.filterwarnings("ignore:invalid escape sequence")  # uncertainty-toolbox
@pytest.mark.parametrize("page", PAGES)
def test_the_snippets_of_a_page(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    names: dict[str, object] = {"__name__": "docs"}
    for language, code, shown in snippets((DOCS / page).read_text("utf-8")):
        if language == "python":
            printed = run_python(code, names, page)
        else:
            printed = run_shell(code, tmp_path)
        if shown is not None:
            both = shortened(shown), shortened(printed)
            matches = doctest.OutputChecker().check_output(*both, FLAGS)
            assert matches, f"docs/{page} shows\n{shown}\nbut\n{code}\nprints\n{printed}"


def test_every_page_is_part_of_the_site():
    listed = " ".join(path.read_text("utf-8") for path in DOCS.glob("*.md"))
    pages = set(PAGES) - {"index.md"}
    absent = [
        page for page in sorted(pages) if not re.search(rf"^(.* <)?{page[:-3]}>?$", listed, re.M)
    ]
    assert absent == []


def test_the_benchmark_page_quotes_the_league_table():
    quoted = (DOCS / "benchmark.md").read_text("utf-8")
    measured = (DOCS.parent / "results" / "league.md").read_text("utf-8")
    rows = {"one width for all rows": "constant width", "the default": "the default"}
    rows['`method="conditional"`'] = "Conditional"
    for row, recipe in rows.items():
        numbers = re.search(
            rf"^trueline, {recipe} +([\d. ]+)\n +error of 90% coverage +([\d. ]+)$", measured, re.M
        )
        pairs = zip(numbers[1].split(), numbers[2].split(), strict=True)
        cells = " | ".join(f"{crps[1:]} ({error[1:]})" for crps, error in pairs)
        assert f"| trueline, {row} | {cells} |" in quoted
