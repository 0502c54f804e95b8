"""Forecasts as distributions of skpro."""

from __future__ import annotations

from typing import Any

from trueline._messages import library
from trueline.distributions import Laplace, Logistic, Normal
from trueline.interop._as_distribution import as_distribution
from trueline.interop._skpro.incoming import FAMILIES


def to_skpro(F: Any, index: Any = None, columns: Any = None) -> Any:
    """Convert a forecast to a distribution of skpro with n rows and one column, labelled by pandas.

    `Normal`, `Laplace` and `Logistic` become skpro's own. Every other forecast becomes a subclass
    of skpro's ``BaseDistribution`` that calls the forecast itself. Its ``mean``, ``var``,
    ``energy``, ``pdf``, ``log_pdf``, ``pmf``, ``cdf``, ``surv``, ``ppf``, ``quantile`` and
    ``sample`` are those of the forecast and tagged as exact, so that skpro's metrics, such as its
    CRPS, take no samples. This includes `StudentT`, because the CDF of skpro's own is NaN from
    about 340 degrees of freedom on. ``sample`` is seeded by ``numpy.random.seed``, as in skpro.

    Parameters
    ----------
    F : Distribution, or what `as_distribution` takes
        n forecasts.
    index : pandas.Index or array-like of length n, optional
        Labels of the rows, or a pandas Series or DataFrame with them; 0 to n - 1 by default.
    columns : pandas.Index or array-like of length 1, optional
        Label of the column; 0 by default.

    Returns
    -------
    skpro.distributions.base.BaseDistribution
        `as_distribution` returns the forecast.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Quantiles([0.1, 0.5, 0.9], [[1.0, 2.0, 4.0], [0.0, 5.0, 6.0]])
    >>> dist = tl.interop.to_skpro(F, index=["a", "b"], columns=["price"])
    >>> dist.ppf(0.9)
       price
    a    4.0
    b    6.0
    >>> dist.loc[["b"]].quantile([0.1, 0.5])
      price
        0.1  0.5
    b   0.0  5.0
    """
    forecast = as_distribution(F)
    skpro = library("skpro.distributions", "to_skpro")
    # This module imports skpro, whose checks need a class at module level.
    from trueline.interop._skpro.skpro_class import SkproDistribution, labels

    rows = labels(index, len(forecast), "index")
    names = labels(columns, 1, "columns")
    if type(forecast) not in (Normal, Laplace, Logistic):
        return SkproDistribution(forecast, index=rows, columns=names)
    name = type(forecast).__name__
    _, translation = FAMILIES[name]
    parameters = {theirs: getattr(forecast, ours)[:, None] for ours, theirs in translation.items()}
    return getattr(skpro, name)(**parameters, index=rows, columns=names)
