"""Forecasts as draws with named dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueline._messages import library
from trueline._validation import RandomState
from trueline.interop._as_distribution import as_distribution

_DIMS = ("chain", "draw")


def to_xarray(
    F: Any,
    size: int,
    *,
    dim: str = "row",
    coords: Any = None,
    name: str = "y",
    random_state: RandomState = None,
) -> Any:
    """Draw from a forecast and return an ``xarray.DataArray`` with the dimensions of arviz.

    The dimensions are ``chain`` (of length 1), ``draw`` and one for the rows, as in a posterior
    predictive group of arviz. Draws of different rows are independent. `as_distribution` reads
    them back as `Samples`.

    Parameters
    ----------
    F : Distribution, or what `as_distribution` takes
        n forecasts.
    size : int
        Number of draws.
    dim : str, default "row"
        Name of the dimension of the rows.
    coords : array-like of length n, or mapping, optional
        Labels of the rows, or coordinates by dimension. By default rows are numbered from 0.
    name : str, default "y"
        Name of the array, such as that of the observed variable of a model.
    random_state : None, int or numpy.random.Generator, optional

    Returns
    -------
    xarray.DataArray, (1, size, n)

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal([0.0, 100.0], 1.0)
    >>> draws = tl.interop.to_xarray(F, 500, dim="city", coords=["Oslo", "Rome"], random_state=0)
    >>> dict(draws.sizes)
    {'chain': 1, 'draw': 500, 'city': 2}
    >>> float(draws.sel(city="Rome").mean().round(1))
    100.0
    """
    forecast = as_distribution(F)
    if not isinstance(dim, str) or not dim or dim in _DIMS:
        raise ValueError(
            f"dim is {dim!r}; expected a name for the rows other than 'chain' and 'draw'."
        )
    n = len(forecast)
    labels = dict(coords) if isinstance(coords, Mapping) else {dim: coords}
    if labels.get(dim) is None:
        labels[dim] = range(n)
    try:
        length = len(labels[dim])
    except TypeError:
        raise TypeError(
            f"coords is of type {type(labels[dim]).__name__}; expected the labels of {dim!r}, one "
            f"per row, or a mapping with them."
        ) from None
    if length != n:
        raise ValueError(
            f"coords has {length} labels for {dim!r} but the forecast has {n} rows; expected one "
            f"per row."
        )
    xarray = library("xarray", "to_xarray")
    drawn = forecast.sample(size, random_state).T[None]
    numbers = {"chain": range(drawn.shape[0]), "draw": range(drawn.shape[1])}
    return xarray.DataArray(drawn, dims=(*_DIMS, dim), coords=numbers | labels, name=name)
