"""Taking forecasts in from wherever they were made.

No optional library is imported here. An object of one can only come from a program that
has imported it, so its package is read off its class, and what reads it is looked up then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import GeneratorType
from typing import Any

from trueline.distributions import Distribution
from trueline.interop._convert._errors import KINDS, refuse_kind
from trueline.interop._convert._numbers import from_array, from_tuple
from trueline.interop._convert._tables import from_mapping, from_named


def as_distribution(obj: Any, kind: str | None = None) -> Distribution:
    """Convert a forecast of another library, or plain numbers, to a distribution.

    ========================================  ============================================
    what                                      becomes
    ========================================  ============================================
    a distribution of trueline                itself
    a tuple (loc, scale)                      `Normal`; any other tuple is refused
    numbers, one a row: list, array,          `Point`
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
    GluonTS ``SampleForecast`` and            `Samples` and `Quantiles`; a row a step ahead,
    ``QuantileForecast``, or a list of them   the next series after the last step
    xarray DataArray, Dataset or DataTree     `Samples`; draws along dims called chain,
    and arviz InferenceData                   draw or sample, flattened; rows along the
                                              other. Of a tree: ``posterior_predictive``
    ========================================  ============================================

    A wrapper answers with the library's own formulas. Its score is the normal score of the
    CDF between -8 and 8 (-6 and 6 for torch and skpro) and linear in y beyond, so that an
    outcome which the forecast held to be impossible, such as one below 0 under a gamma
    forecast, has a finite score.

    Parameters
    ----------
    obj : object
        Of shape (), (n,) or (n, 1): one distribution a row.
    kind : {"samples", "quantiles", "mean_std", "mean_var", "point"}, optional
        What plain numbers hold, where that cannot be told:

        - ``"samples"``: draws, shape (rows, draws). Many packages give (draws, rows):
          transpose those.
        - ``"mean_std"`` and ``"mean_var"``: a tuple, or an array (n, 2), of the mean and the
          standard deviation or the *variance*. A tuple without a kind is (mean, standard
          deviation), and numbers alone cannot tell: CatBoost's ``RMSEWithUncertainty``, GPy
          and GPflow give variances.
        - ``"quantiles"``: a frame, whose columns 10, 50 and 90 are then percentages. An array
          has no levels: pass ``{"levels": ..., "values": ...}``.
        - ``"point"``: one number a row, of an array (n, 1) or a frame too.

        Objects that say themselves what they are need none.

    Returns
    -------
    Distribution

    Raises
    ------
    TypeError
        If the object is of another kind, or discrete, or multivariate, or of a kind that
        cannot be told: a 2-D array may hold draws or quantiles, columns ``q1``, ``q2``,
        ``q3`` percentages or quartiles.
    ValueError
        If numbers are not what they should be: a negative standard deviation, which may be
        a logarithm; levels above 1, which may be percentages.

    Examples
    --------
    >>> import trueline as tl
    >>> tl.as_distribution(([1.0, 2.0], 0.5))
    Normal(2 rows)
    >>> tl.as_distribution(([1.0, 2.0], [0.25, 4.0]), kind="mean_var").std()
    array([0.5, 2. ])
    >>> tl.as_distribution([[1.0, 2.0, 4.0]], kind="samples")
    Samples(1 rows)
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
    convert = _converter(obj)
    if convert is not None:
        return convert(obj, kind)
    if isinstance(obj, list | tuple) and len(obj) and _package(obj[0]) == "gluonts":
        return _gluonts_list(obj, kind)
    if isinstance(obj, tuple):
        named = from_named(obj, kind)
        return from_tuple(obj, kind) if named is None else named
    if isinstance(obj, Mapping):
        return from_mapping(obj, kind)
    if isinstance(obj, GeneratorType):
        raise TypeError("obj is a generator; expected what it yields. Pass list(obj).")
    return from_array(obj, kind)


_Converter = Callable[[Any, str | None], Distribution]

# Packages whose objects are converted: the parents of their modules, the module here that reads
# them and its function, and whether they need to be told what they are.
_PACKAGES: dict[str, tuple[str, str, str, bool]] = {
    "arviz": ("arviz", "_xarray", "from_arviz", True),
    "gluonts": ("gluonts.model", "_gluonts", "from_gluonts", True),
    "ngboost": ("ngboost.distns", "_ngboost", "from_ngboost", False),
    "pandas": ("pandas", "_tables", "from_pandas", True),
    "polars": ("polars", "_tables", "from_polars", True),
    "pyarrow": ("pyarrow", "_tables", "from_pyarrow", True),
    "scipy": ("scipy.stats", "_scipy", "from_scipy", False),
    "skpro": ("skpro.distributions", "_skpro", "from_skpro", False),
    "torch": ("torch.distributions", "_torch", "from_torch", False),
    "trueline": ("trueline.interop", "_trueline", "from_interop", False),
    "xarray": ("xarray", "_xarray", "from_xarray", True),
}


def _package(obj: Any) -> str | None:
    """Return the package that reads an object; its class, or a parent of it, belongs to one."""
    for cls in type(obj).__mro__:
        name = cls.__module__
        package = name.partition(".")[0]
        if package in _PACKAGES and f"{name}.".startswith(f"{_PACKAGES[package][0]}."):
            return package
    return None


def _converter(obj: Any) -> _Converter | None:
    package = _package(obj)
    if package is None:
        return None
    _, module, function, takes_kind = _PACKAGES[package]
    convert: Any = getattr(import_module(f"{__name__}.{module}"), function)
    if takes_kind:
        return convert

    def without_kind(obj: Any, kind: str | None) -> Distribution:
        if kind is not None:
            refuse_kind(kind, obj, "which says itself what it is")
        return convert(obj)

    return without_kind


def _gluonts_list(obj: Any, kind: str | None) -> Distribution:
    from trueline.interop._convert._gluonts import from_forecasts

    return from_forecasts(obj, kind)
