"""What is refused, and how to mend it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NoReturn

import numpy as np

from trueline._validation import FloatArray
from trueline.distributions import Distribution
from trueline.interop._external import External

#: What a table or an array may be said to hold.
KINDS = ("samples", "quantiles", "mean_std", "mean_var", "point")

#: How to say what a table of numbers holds, for messages.
SAY_WHICH = (
    'Say which: kind="samples" for draws, (rows, draws); {"levels": levels, "values": obj} for '
    'quantiles, (rows, levels); kind="mean_std" or kind="mean_var" for two columns'
)


def class_name(obj: Any) -> str:
    """Package and class of an object."""
    return f"{type(obj).__module__.split('.')[0]}.{type(obj).__name__}"


def shown(names: Sequence[Hashable]) -> str:
    """Names of columns, the middle left out if there are many."""
    if len(names) < 7:
        return f"[{', '.join(repr(name) for name in names)}]"
    return f"[{names[0]!r}, {names[1]!r}, ..., {names[-1]!r}]"


def refuse(obj: Any, why: str = "") -> NoReturn:
    """Say that the object is of no kind that is known."""
    raise TypeError(
        f"cannot make a distribution of a {class_name(obj)}{why and ' '}{why}; expected a "
        f"distribution of trueline, scipy.stats, torch.distributions, skpro or ngboost, a forecast "
        f"of gluonts, draws in xarray or arviz, a frame or dict with named columns, a tuple "
        f"(loc, scale), or one number a row. "
        f"Otherwise build it yourself: Normal(loc, scale), Samples(draws) or "
        f"Quantiles(levels, values)."
    )


def refuse_kind(kind: str, obj: Any, is_a: str) -> NoReturn:
    """Say that the object is not of the kind that was asked for."""
    raise TypeError(
        f"kind is {kind!r}, but obj is a {class_name(obj)}, {is_a}. Leave kind out: it is for "
        f"plain numbers, which do not say what they are."
    )


def refuse_steps(name: str, draws: str, kind: str = "discrete") -> NoReturn:
    """Say that the distribution has steps."""
    raise TypeError(
        f"obj is a {kind} distribution ({name}); expected a continuous one, because steps have "
        f"no useful score. Give draws instead: Samples({draws})."
    )


def refuse_multivariate(name: str, margins: str) -> NoReturn:
    """Say that the distribution is of more than one number."""
    raise TypeError(
        f"obj is a multivariate distribution ({name}); expected one number a row. "
        f"Give its margins: {margins}."
    )


def rows_of(shape: tuple[int, ...], name: str) -> int:
    """Return the number of rows of a batch of this shape."""
    if len(shape) > 2 or (len(shape) == 2 and shape[1] != 1):
        raise ValueError(
            f"the {name} distribution has shape {tuple(shape)}; expected one distribution a row, "
            f"shape (), (n,) or (n, 1). Convert one column at a time."
        )
    if 0 in shape:
        raise ValueError(f"the {name} distribution is empty; expected at least one row.")
    return shape[0] if shape else 1


def checked(dist: External, name: str) -> Distribution:
    """Return it if its parameters make sense in every row: the library says NaN or raises."""
    middle: FloatArray = dist._ppf(np.array([[0.5]]))[:, 0]
    bad = np.flatnonzero(~np.isfinite(middle))
    if len(bad):
        raise ValueError(
            f"row {bad[0]} of the {name} distribution has no finite median ({len(bad)} of "
            f"{len(dist)} have none); expected parameters within their domain. "
            f"Mend or drop those rows."
        )
    return dist
