"""The page, the tables and the CSV file of the lengths of training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from reproduce.cells import Cell, columns
from reproduce.pages import comma_separated, hours, markdown, page, share
from reproduce.sales import networks as sales
from reproduce.table1.cells import TITLES
from trueline.datasets import names

#: Epochs of a task that trains by the rule of Table 1.
BY_RULE = 0
#: What is kept of the measures.
MEASURES = ("calibration_error", "calibration_floor", "crps", "coverage")
#: The measure that chooses: of forecasts of training rows that a network has not seen.
HELD_OUT = "held_out_crps"
_STORE = "store "


class Key(NamedTuple):
    """A network on some data, trained for a number of epochs."""

    data: str
    model: str
    epochs: int


Cells = Mapping[Key, Cell]


def cells_of(records: Sequence[dict[str, Any]]) -> dict[Key, Cell]:
    """Group the seeds by data, network and length of training, in the order of the tables."""
    found: dict[Key, list[dict[str, Any]]] = {}
    for record in records:
        key = Key(*(record[name] for name in Key._fields))
        found.setdefault(key, []).append(record)
    models, sets = (*sales.MODELS, *TITLES), names()

    def place(key: Key) -> tuple[Any, ...]:
        of_set = sets.index(key.data) if key.data in sets else -1
        return of_set, key.data, models.index(key.model), key.epochs

    return {key: Cell(key.data, key.model, found[key]) for key in sorted(found, key=place)}


def csv_of(records: Sequence[dict[str, Any]]) -> str:
    """Return all means and standard errors, one line per data, network, length and variant."""
    rows = [
        [
            *(*key._replace(epochs=epochs_of(key)), cell.splits, variant, held_out(cell)),
            *cell.numbers(variant, MEASURES),
        ]
        for key, cell in cells_of(records).items()
        for variant in cell.records[0]["variants"]
    ]
    heads = [*Key._fields, "seeds", "variant", HELD_OUT, *columns(MEASURES)]
    return comma_separated(heads, rows)


def epochs_of(key: Key) -> Any:
    """Return what the tables say of a length."""
    return "rule" if key.epochs == BY_RULE else key.epochs


def held_out(cell: Cell) -> float:
    """Return the CRPS of the training rows that a network has not seen."""
    return float(np.mean([record[HELD_OUT] for record in cell.records]))


def table(records: Sequence[dict[str, Any]]) -> str:
    """Return both tables."""
    cells = cells_of(records)
    return f"{of_stores(cells)}\n{of_sets(cells)}"


def page_of(records: Sequence[dict[str, Any]], command: str, made: str) -> str:
    """Return the page."""
    cells = cells_of(records)
    values = {
        "made": made,
        "of_stores": of_stores(cells),
        "of_sets": of_sets(cells),
        "hours": hours(records),
    }
    return page("epochs", command, values)


def of_stores(cells: Cells) -> str:
    """Return the table of the daily sales; the length with the lowest held-out CRPS is marked."""
    stores = _data(cells, store=True)
    heads = ["", "held-out CRPS", *(f"{store}: error" for store in stores)]
    heads += [f"{store}: 90% holds" for store in stores]
    heads += [f"{store}: training days" for store in stores]
    rows = []
    for model, lengths in _lengths(cells, stores).items():
        scores = {length: _relative(cells, stores, model, length) for length in lengths}
        best = min(scores, key=lambda length: scores[length])
        for length in lengths:
            of = [cells[Key(store, model, length)] for store in stores]
            mark = " (used)" if length == best else ""
            after = [_error(cell, "training") if cell.has("training") else "" for cell in of]
            rows.append(
                (
                    f"{sales.VARIANTS.get(model, TITLES['dropout'])}, {length}{mark}",
                    f"{scores[length]:.3f}",
                    *(_error(cell, "before") for cell in of),
                    *(share(cell.mean("before", "coverage")) for cell in of),
                    *after,
                )
            )
    return markdown(heads, rows)


def best_lengths(records: Sequence[dict[str, Any]]) -> dict[str, int]:
    """Return the length of each network of the sales that forecasts held-out days best."""
    cells = cells_of(records)
    stores = _data(cells, store=True)
    return {
        model: min(lengths, key=lambda length: _relative(cells, stores, model, length))
        for model, lengths in _lengths(cells, stores).items()
    }


def of_sets(cells: Cells) -> str:
    """Return the table of the sets of Table 1; all numbers are means over them.

    The last column counts the sets on which MC dropout, trained by the rule and recalibrated as in
    the paper, has a lower calibration error than the network in its line.
    """
    sets = _data(cells, store=False)
    heads = ("", "held-out CRPS", "error / floor", "worst set", "CRPS", "MC dropout is better on")
    rows = []
    for model, lengths in _lengths(cells, sets).items():
        for length in (*(one for one in lengths if one != BY_RULE), BY_RULE):
            of = [cells[Key(name, model, length)] for name in sets]
            rule = [cells[Key(name, model, BY_RULE)] for name in sets]
            better = sum(
                cells[Key(name, "dropout", BY_RULE)].mean("training", "calibration_error")
                < cell.mean("before", "calibration_error")
                for name, cell in zip(sets, of, strict=True)
            )
            rows.append(
                (
                    f"{TITLES[model]}, {epochs_of(Key('', model, length))}",
                    f"{_mean_ratio(held_out, of, rule):.3f}",
                    f"{np.mean([cell.ratio('before') for cell in of]):.1f}",
                    f"{max(cell.ratio('before') for cell in of):.1f}",
                    f"{_mean_ratio(_crps, of, rule):.3f}",
                    f"{better} of {len(sets)}",
                )
            )
    return markdown(heads, rows)


# ---- parts -----------------------------------------------------------------------------


def _data(cells: Cells, *, store: bool) -> list[str]:
    """Return the stores, or the other data."""
    return list(dict.fromkeys(key.data for key in cells if key.data.startswith(_STORE) == store))


def _lengths(cells: Cells, data: Sequence[str]) -> dict[str, list[int]]:
    """Return the lengths of training by network."""
    found: dict[str, list[int]] = {}
    for key in cells:
        if key.data == data[0]:
            found.setdefault(key.model, []).append(key.epochs)
    return found


def _relative(cells: Cells, stores: Sequence[str], model: str, length: int) -> float:
    """Return the held-out CRPS, relative in each store to the mean over the lengths."""
    lengths = _lengths(cells, stores)[model]
    parts = []
    for store in stores:
        by_length = {one: held_out(cells[Key(store, model, one)]) for one in lengths}
        parts.append(by_length[length] / np.mean(list(by_length.values())))
    return float(np.mean(parts))


def _mean_ratio(
    measure: Callable[[Cell], float], cells: Sequence[Cell], others: Sequence[Cell]
) -> float:
    return float(np.mean([measure(a) / measure(b) for a, b in zip(cells, others, strict=True)]))


def _error(cell: Cell, variant: str) -> str:
    return f"{cell.mean(variant, 'calibration_error'):.3f}"


def _crps(cell: Cell) -> float:
    return cell.mean("before", "crps")
