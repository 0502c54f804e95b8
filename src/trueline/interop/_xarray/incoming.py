"""Draws with named dimensions: xarray, and arviz on top of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueline.distributions import Distribution, Samples
from trueline.interop._numbers import from_array, from_levels
from trueline.interop._refusals import class_name, refuse, refuse_kind
from trueline.interop._tables.incoming import from_mapping

#: Names of dimensions that hold draws.
DRAWS = ("chain", "draw", "draws", "sample", "samples", "realization", "member", "ensemble")
_LEVELS = ("quantile", "quantiles", "level")
# Groups of arviz with draws of outcomes.
_GROUPS = ("posterior_predictive", "predictions")
# Groups with something else.
_PARAMETERS = ("posterior", "prior", "log_likelihood", "log_prior", "sample_stats")


def from_arviz(obj: Any, kind: str | None) -> Distribution:
    """Convert the one group of an InferenceData that has draws of outcomes."""
    if not hasattr(obj, "groups"):
        refuse(obj)
    return from_xarray(getattr(obj, _group(list(obj.groups()))), kind)


def from_xarray(obj: Any, kind: str | None) -> Distribution:
    """Convert a DataTree, a Dataset or a DataArray."""
    classes = {cls.__name__ for cls in type(obj).__mro__}
    if "DataTree" in classes:
        if obj.name in _PARAMETERS:
            _group([str(obj.name)])
        if not obj.data_vars:
            obj = obj[_group([str(name) for name in obj.children])]
        obj = obj.to_dataset()
        classes = {"Dataset"}
    if "Dataset" in classes:
        return _from_dataset(obj, kind)
    if "DataArray" not in classes:
        refuse(obj)
    return _from_array(obj, kind)


def _group(groups: list[str]) -> str:
    found = [name for name in _GROUPS if name in groups]
    if len(found) == 1:
        return found[0]
    if found:
        raise TypeError(
            f"obj has draws of outcomes in {' and in '.join(found)}; expected one group. Choose: "
            f"obj[{found[0]!r}] for the rows of the fit, obj[{found[1]!r}] for new ones."
        )
    raise TypeError(
        f"obj has the groups {', '.join(groups) or 'none'}; expected posterior_predictive, with "
        f"draws of outcomes. Draw them first, such as with pm.sample_posterior_predictive: draws "
        f"of parameters are not a forecast."
    )


def _from_dataset(obj: Any, kind: str | None) -> Distribution:
    names = list(obj.data_vars)
    if len(names) == 1:
        return _from_array(obj[names[0]], kind)
    if names and not any(dim in DRAWS + _LEVELS for dim in obj.dims):
        return from_mapping({name: obj[name].values for name in names}, kind)
    found = ", ".join(map(str, names)) or "none"
    raise TypeError(
        f"obj is a Dataset with the variables {found}; expected one. "
        f"Choose: obj[{names[0] if names else '...'!r}]."
    )


def _from_array(obj: Any, kind: str | None) -> Distribution:
    draws = [dim for dim in obj.dims if _holds_draws(obj, dim)]
    if len(set(draws) - {"chain"}) > 1:
        raise TypeError(
            f"obj has the dims {_dims(obj.dims)}, of which {_dims(draws)} may all hold draws; "
            f"expected one such, or chain and one. Rename the dim of the rows, such as "
            f"obj.rename({draws[-1]}='row')."
        )
    levels = [dim for dim in obj.dims if dim in _LEVELS and dim in obj.coords]
    if draws and kind in (None, "samples"):
        return Samples(_along(obj, draws))
    if len(levels) == 1 and kind in (None, "quantiles"):
        values = _along(obj, levels)
        return from_levels(np.asarray(obj[levels[0]], dtype=np.float64), values, "obj")
    if draws or levels:
        refuse_kind(
            str(kind), obj, f"with {' and '.join(map(str, draws or levels))} among its dims"
        )
    if obj.ndim < 2 or kind not in (None, "samples", "quantiles"):
        return from_array(obj.values, kind)
    unknown = [dim for dim in obj.dims if dim in _LEVELS]
    fix = (
        f"Say the levels of {unknown[0]}: obj.assign_coords({unknown[0]}=levels)."
        if unknown
        else "Rename the one that holds the draws: obj.rename(NAME='draw')."
    )
    raise TypeError(
        f"obj is a {class_name(obj)} with dims {_dims(obj.dims)}; expected draws along one called "
        f"{', '.join(DRAWS[:-1])} or {DRAWS[-1]}, or quantiles along one with levels. {fix}"
    )


def _holds_draws(obj: Any, dim: Any) -> bool:
    """Whether a dim holds draws, by its name or by those of the dims stacked in it."""
    index = obj.indexes.get(dim)
    stacked = [name for name in getattr(index, "names", ()) if name is not None]
    return dim in DRAWS or (len(stacked) > 1 and all(name in DRAWS for name in stacked))


def _along(obj: Any, dims: list[Any]) -> Any:
    """Return the values with the rows first and these dims, flattened, last."""
    rest = [dim for dim in obj.dims if dim not in dims]
    many = [dim for dim in rest if obj.sizes[dim] > 1]
    if len(many) > 1:
        names = ", ".join(repr(dim) for dim in many)
        raise TypeError(
            f"obj has draws along {_dims(dims)} and more than one dim besides: {_dims(many)}; "
            f"expected one, whose entries are the rows. Choose, such as obj.isel({many[-1]}=0), or "
            f"make one of them: obj.stack(row=[{names}])."
        )
    values = obj.transpose(*rest, *dims).values
    return values.reshape(int(np.prod([obj.sizes[dim] for dim in rest], dtype=int)), -1)


def _dims(dims: Any) -> str:
    return f"({', '.join(map(str, dims))})"
