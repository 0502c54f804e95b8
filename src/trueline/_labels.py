"""Labels of rows: rows are paired by position, so labels that say otherwise are not ignored.

Labels are those of pandas and xarray. Neither is imported here: without the import elsewhere there
are no such objects.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any


def labels_of(x: Any) -> Any:
    """Return the labels of the rows of an object, a pandas index; None if it has none."""
    pandas, xarray = sys.modules.get("pandas"), sys.modules.get("xarray")
    if pandas is not None and isinstance(x, pandas.Series | pandas.DataFrame):
        return x.index
    if xarray is not None and isinstance(x, xarray.DataArray) and x.ndim:
        return x.indexes.get(x.dims[0])
    return getattr(x, "_labels", None)  # a forecast that was made of labelled rows


def check_labels(stacklevel: int = 3, **given: Any) -> Any:
    """Check that labelled arguments of the same rows agree; return the labels, None without any.

    The same labels in another order raise ValueError. Different labels give a warning, because
    rows may belong together all the same. The labels 0, 1, ... of a new frame differ from those of
    a subset of rows whenever features were scaled into a new frame, so they give none.
    """
    found = [(name, labels) for name, x in given.items() if (labels := labels_of(x)) is not None]
    for name, labels in found[1:]:
        first, others = found[0]
        if labels is not others and len(labels) == len(others) and not labels.equals(others):
            _complain(name, labels, first, others, stacklevel + 1)
    return found[0][1] if found else None


def _complain(name: str, labels: Any, first: str, others: Any, stacklevel: int) -> None:
    one, other = (name, first) if name != "dist" else (first, name)
    index = "forecasts.index" if other == "dist" else f"{other}.index"
    remedy = (
        f"Rows are paired by position. Align them first: {one} = {one}.loc[{index}]. If they "
        f"belong together as they are, drop the labels: {one}.reset_index(drop=True)."
    )
    common = labels.isin(others)
    if common.all() and others.isin(labels).all():
        raise ValueError(f"{first} and {name} have the same labels in another order. {remedy}")
    if not (_is_default(labels) or _is_default(others)):
        missing = len(labels) - int(common.sum())
        text = f"{missing} labels of {name} are not those of {first}. {remedy}"
        warnings.warn(text, UserWarning, stacklevel=stacklevel)


def _is_default(labels: Any) -> bool:
    """Whether labels are those that pandas gives to a new frame."""
    pandas = sys.modules["pandas"]
    return isinstance(labels, pandas.RangeIndex) and labels.start == 0 and labels.step == 1
