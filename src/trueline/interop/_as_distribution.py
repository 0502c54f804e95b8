"""Conversion of other libraries' forecasts to distributions.

No optional library is imported here: an object of a library can only come from a program that
has imported it. The package and its converter are found from the object's class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import GeneratorType
from typing import Any

from trueline._labels import labels_of
from trueline.distributions import Distribution
from trueline.interop._gluonts import from_gluonts
from trueline.interop._ngboost import from_ngboost
from trueline.interop._numbers import from_array, from_tuple
from trueline.interop._refusals import KINDS, refuse_kind
from trueline.interop._scipy.incoming import from_scipy
from trueline.interop._skpro.incoming import from_skpro
from trueline.interop._tables.incoming import (
    from_mapping,
    from_named,
    from_pandas,
    from_polars,
    from_pyarrow,
)
from trueline.interop._torch.incoming import from_torch
from trueline.interop._xarray.incoming import from_arviz, from_xarray


def as_distribution(obj: Any, kind: str | None = None) -> Distribution:
    """Convert a forecast of another library, or plain numbers, to a distribution.

    ========================================  ============================================
    what                                      becomes
    ========================================  ============================================
    a distribution of trueline                itself
    a tuple (loc, scale)                      `Normal`; any other tuple is refused
    numbers, one per row: list, array,        `Point`
    Series, tensor
    ``{"levels": ..., "values": ...}``,       `Quantiles`; levels in any order
    or a dict {level: values}
    a frame of pandas, polars or pyarrow      `Quantiles` from columns such as 0.1,
                                              ``q0.1``, ``quantile_0.1``, ``10%``, ``p10``,
                                              or ``lower_0.9`` and ``upper_0.9``; `Normal`
                                              from mean (loc, mu) and std (scale, sigma) or
                                              var; `Samples` from ``sample_0``, ...
    a dict with such names                    the same
    ``scipy.stats``, frozen                   `Normal`, `StudentT`, `Laplace`, `Logistic`,
                                              or a wrapper of any continuous family
    ``scipy.stats``, objects: ``Normal``,     the same, and `Mixture`
    ``Mixture``, ``make_distribution(...)``,
    and functions of them: exp, log, abs,
    truncate, a + b X
    ``torch.distributions``                   the same; also mixtures and monotone
                                              transforms; float64, without gradients
    ``skpro.distributions``, one column       the same, `Mixture`, and `Samples`
    NGBoost's ``pred_dist(X)``                what its scipy distribution becomes
    GluonTS ``SampleForecast`` and            `Samples` and `Quantiles`; one row per step
    ``QuantileForecast``, or a list of them   ahead, one series after another
    xarray DataArray, Dataset or DataTree     `Samples`; draws along dims called chain,
    and arviz InferenceData                   draw or sample, flattened; rows along the
                                              other; from ``posterior_predictive``
    ========================================  ============================================

    A wrapper uses the library's own formulas. Its score is the normal score of the CDF between
    -8 and 8 (-6 and 6 for torch and skpro) and linear in y beyond, so that outcomes outside the
    support, such as one below 0 under a gamma forecast, have finite scores.

    Parameters
    ----------
    obj : object
        Shape (), (n,) or (n, 1): one distribution per row.
    kind : {"samples", "quantiles", "mean_std", "mean_var", "point"}, optional
        What plain numbers hold:

        - ``"samples"``: draws, shape (rows, draws). Transpose the (draws, rows) of many
          packages.
        - ``"mean_std"`` and ``"mean_var"``: a tuple, or an array (n, 2), of the mean and the
          standard deviation or the *variance*. A tuple without a kind is (mean, standard
          deviation); CatBoost's ``RMSEWithUncertainty``, GPy and GPflow give variances.
        - ``"quantiles"``: a frame, whose columns 10, 50 and 90 are then percentages. An array
          has no levels: pass ``{"levels": ..., "values": ...}``.
        - ``"point"``: one number per row, also from an array (n, 1) or a frame.

        Distributions and forecasts of other packages need no kind.

    Raises
    ------
    TypeError
        If the object is of another kind, discrete, multivariate or ambiguous: a 2-D array may
        hold draws or quantiles, columns ``q1``, ``q2``, ``q3`` percentages or quartiles.
    ValueError
        If numbers are invalid: a negative standard deviation, which may be a logarithm; levels
        above 1, which may be percentages.

    Examples
    --------
    >>> import trueline as tl
    >>> tl.as_distribution(([1.0, 2.0], 0.5))
    Normal(2 rows)
    >>> tl.as_distribution(([1.0, 2.0], [0.25, 4.0]), kind="mean_var").std()
    array([0.5, 2. ])
    >>> tl.as_distribution([[1.0, 2.0, 4.0]], kind="samples")
    Samples(1 row)
    >>> F = tl.as_distribution({"levels": [0.9, 0.1], "values": [[3.0, 1.0], [5.0, 4.0]]})
    >>> F.levels, F.ppf(0.9)
    (array([0.1, 0.9]), array([3., 5.]))
    >>> from scipy.stats import gamma
    >>> F = tl.as_distribution(gamma(a=[2.0, 3.0]))
    >>> F.ppf(0.9).round(3)
    array([3.89 , 5.322])
    >>> F.score(-0.1).round(2)
    array([-8.08, -8.06])
    """
    if kind is not None and kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; expected one of {', '.join(KINDS)}, or None.")
    if isinstance(obj, Distribution):
        return obj if kind is None else refuse_kind(kind, obj, "a distribution already")
    package = _package(obj)
    if package is None and isinstance(obj, list | tuple) and len(obj):
        package = "gluonts" if _package(obj[0]) == "gluonts" else None
    if package is not None:
        if kind is not None and package in _SELF_DESCRIBING:
            refuse_kind(kind, obj, "which says itself what it is")
        made = _PACKAGES[package][1](obj, kind)
        return _labelled(made, obj) if package == "pandas" else made
    if isinstance(obj, tuple):
        named = from_named(obj, kind)
        return _labelled(from_tuple(obj, kind), *obj) if named is None else named
    if isinstance(obj, Mapping):
        columns = [column for name, column in obj.items() if name != "levels"]
        return _labelled(from_mapping(obj, kind), *columns)
    if isinstance(obj, GeneratorType):
        raise TypeError("obj is a generator; expected what it yields. Pass list(obj).")
    return from_array(obj, kind)


def _labelled(made: Distribution, *columns: Any) -> Distribution:
    """Give a new forecast the labels of the first column that has some."""
    found = (labels_of(column) for column in columns)
    made._labels = next((labels for labels in found if labels is not None), None)
    return made


def _forecast_of(obj: Any, _: str | None) -> Distribution:
    """Return the forecast that an object of `to_scipy`, `to_torch` or `to_skpro` was made of."""
    forecast: Distribution = obj.forecast
    return forecast


# The module of each package that defines the objects which are converted, and their converter.
_PACKAGES: dict[str, tuple[str, Callable[[Any, str | None], Distribution]]] = {
    "arviz": ("arviz", from_arviz),
    "gluonts": ("gluonts.model", from_gluonts),
    "ngboost": ("ngboost.distns", from_ngboost),
    "pandas": ("pandas", from_pandas),
    "polars": ("polars", from_polars),
    "pyarrow": ("pyarrow", from_pyarrow),
    "scipy": ("scipy.stats", from_scipy),
    "skpro": ("skpro.distributions", from_skpro),
    "torch": ("torch.distributions", from_torch),
    "trueline": ("trueline.interop", _forecast_of),
    "xarray": ("xarray", from_xarray),
}

# Packages whose objects are distributions, so that they need no `kind`.
_SELF_DESCRIBING = ("ngboost", "scipy", "skpro", "torch", "trueline")


def _package(obj: Any) -> str | None:
    """Return the package that an object's class, or a parent of it, belongs to."""
    for cls in type(obj).__mro__:
        package = cls.__module__.partition(".")[0]
        if package in _PACKAGES and f"{cls.__module__}.".startswith(f"{_PACKAGES[package][0]}."):
            return package
    return None
