"""Objects that are refused, and the messages that say how to fix them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NoReturn

import numpy as np

from trueline.distributions import Distribution

#: What a table or an array may hold.
KINDS = ("samples", "quantiles", "mean_std", "mean_var", "point")

#: Advice on a table of numbers whose kind is not known.
SAY_WHICH = (
    'Say which: kind="samples" for draws, (rows, draws); {"levels": levels, "values": obj} for '
    'quantiles, (rows, levels); kind="mean_std" or kind="mean_var" for two columns'
)


def class_name(obj: Any) -> str:
    """Return the package and the class of an object."""
    return f"{type(obj).__module__.split('.')[0]}.{type(obj).__name__}"


def shown(names: Sequence[Hashable]) -> str:
    """Return the names of columns, without those in the middle if there are many."""
    if len(names) < 7:
        return f"[{', '.join(repr(name) for name in names)}]"
    return f"[{names[0]!r}, {names[1]!r}, ..., {names[-1]!r}]"


def refuse(obj: Any, why: str = "") -> NoReturn:
    """Raise because an object is of no known kind."""
    raise TypeError(
        f"cannot make a distribution of a {class_name(obj)}{why and ' '}{why}; expected a "
        f"distribution of trueline, scipy.stats, torch.distributions, skpro or ngboost, a forecast "
        f"of gluonts, draws in xarray or arviz, a frame or dict with named columns, a tuple "
        f"(loc, scale), or one number per row. Otherwise build it yourself: Normal(loc, scale), "
        f"Samples(draws) or Quantiles(levels, values)."
    )


def refuse_kind(kind: str, obj: Any, is_a: str) -> NoReturn:
    """Raise because `kind` does not fit the object, or is not needed."""
    raise TypeError(
        f"kind is {kind!r}, but obj is a {class_name(obj)}, {is_a}. Leave kind out: it is for "
        f"plain numbers, which do not say what they are."
    )


def refuse_steps(name: str, draws: str, kind: str = "discrete") -> NoReturn:
    """Raise because a distribution has steps."""
    raise TypeError(
        f"obj is a {kind} distribution ({name}); expected a continuous one, because steps have "
        f"no useful score. Give draws instead: Samples({draws})."
    )


def refuse_multivariate(name: str, margins: str) -> NoReturn:
    """Raise because a distribution is multivariate."""
    raise TypeError(
        f"obj is a multivariate distribution ({name}); expected one number per row. "
        f"Give its margins: {margins}."
    )


def rows_of(shape: tuple[int, ...], name: str) -> int:
    """Return the number of rows of a batch of this shape."""
    if len(shape) > 2 or (len(shape) == 2 and shape[1] != 1):
        raise ValueError(
            f"the {name} distribution has shape {tuple(shape)}; expected one distribution per row, "
            f"shape (), (n,) or (n, 1). Convert one column at a time."
        )
    if 0 in shape:
        raise ValueError(f"the {name} distribution is empty; expected at least one row.")
    return shape[0] if shape else 1


def checked(dist: Distribution, name: str) -> Distribution:
    """Return the distribution if its parameters are valid, so that every median is finite."""
    bad = np.flatnonzero(~np.isfinite(dist._ppf(np.array([[0.5]]))[:, 0]))
    if len(bad):
        raise ValueError(
            f"row {bad[0]} of the {name} distribution has no finite median ({len(bad)} of "
            f"{len(dist)} have none); expected parameters within their domain. "
            f"Fix or drop those rows."
        )
    return dist
