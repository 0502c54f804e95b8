"""Write the committed pages and tables again, from the committed numbers and without any run."""

from __future__ import annotations

import csv
import json
from importlib import import_module
from pathlib import Path
from typing import Any

from reproduce import ExperimentError
from reproduce.pages import command_line
from trueline._files import write_text

#: Experiments, and the file that holds their numbers.
NUMBERS = {
    "table1": "splits.jsonl",
    "forecast": "runs.jsonl",
    "inventory": "runs.jsonl",
    "epochs": "runs.jsonl",
    "depth": "depth.csv",
}


def run(folder: Path) -> str:
    """Write the pages and return a sentence; `folder` is that of the results."""
    for name in NUMBERS:
        rewrite(folder / name, name)
    return f"{', '.join(NUMBERS)}: pages and tables are written again in {folder}."


def rewrite(target: Path, name: str) -> None:
    """Write the page of an experiment, and its table if the numbers are those of a journal."""
    writer: Any = import_module(f"reproduce.{name}.page")
    path = target / NUMBERS[name]
    if not path.is_file():
        raise ExperimentError(f"{path} does not exist: run this in a checkout of the repository.")
    text = path.read_text("utf-8")
    numbers: Any
    if path.suffix == ".csv":
        numbers = writer.numbers_of(list(csv.DictReader(text.splitlines())))
    else:
        numbers = [json.loads(line) for line in text.splitlines()[1:]]
        write_text(target / f"{name}.csv", writer.csv_of(numbers))
    page = target / f"{name}.md"
    write_text(page, writer.page_of(numbers, command_line(name, {}), made(page)))


def made(page: Path) -> str:
    """Return the sentence of a page that names its command and the versions of that run."""
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("Made by "):
            return line
    raise ExperimentError(f"{page} does not say how it was made: run the experiment.")
