"""The class behind `to_skpro`; skpro is needed to import this module."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from skpro.distributions.base import BaseDistribution

from trueline._validation import FloatArray
from trueline.distributions import Distribution, Normal, Quantiles, Samples
from trueline.interop._trailing import quantiles_at, values_at

_EXACT = ["mean", "var", "energy", "pdf", "log_pdf", "pmf", "log_pmf", "cdf", "surv", "ppf"]


class SkproDistribution(BaseDistribution):  # type: ignore[misc]  # skpro may be absent
    """A forecast as a distribution of skpro, made by `to_skpro`.

    `as_distribution` returns the forecast. A single row without labels is a scalar distribution.
    skpro's own checks ask for an example.

    Examples
    --------
    >>> import trueline as tl
    >>> from trueline.interop._skpro.skpro_class import SkproDistribution
    >>> SkproDistribution(tl.Samples([[0.0, 1.0, 5.0]])).mean()
    np.float64(2.0)
    """

    _tags = {  # noqa: RUF012  # as in skpro
        "capabilities:approx": ["pdfnorm"],
        "capabilities:exact": _EXACT,
        "distr:measuretype": "continuous",
        "distr:paramtype": "nonparametric",
        "broadcast_init": "off",
    }

    def __init__(self, forecast: Distribution, index: Any = None, columns: Any = None) -> None:
        self.forecast = forecast
        super().__init__(index=index, columns=columns)
        kind = "mixed" if forecast._has_atoms() else "continuous"
        self.set_tags(**{"distr:measuretype": "discrete" if forecast._discrete else kind})

    def _init_shape_bc(self, index: Any = None, columns: Any = None) -> None:
        n = len(self.forecast)
        if index is None and columns is None and n == 1:
            self._shape: tuple[int, ...] = ()
            return
        self.index = labels(index, n, "index")
        self.columns = labels(columns, 1, "columns")
        self._shape = (n, 1)

    # ---- rows ------------------------------------------------------------------------

    def _iloc(self, rowidx: Any = None, colidx: Any = None) -> SkproDistribution:
        if np.isscalar(rowidx) and np.isscalar(colidx):
            return self._iat(rowidx, colidx)
        rows = _positions(rowidx, len(self))
        _check_column(colidx)
        if not rows.size:
            raise IndexError("no rows are selected; expected at least one.")
        forecast = self.forecast._take(rows)
        return SkproDistribution(forecast, index=self.index.take(rows), columns=self.columns)

    def _iat(self, rowidx: Any = None, colidx: Any = None) -> SkproDistribution:
        if rowidx is None or colidx is None:
            raise ValueError("iat takes both a row and a column; expected iat[row, 0].")
        _check_column(colidx)
        return SkproDistribution(self.forecast._take(_positions(rowidx, len(self))))

    def _get_indexer_like_pandas(self, index: Any, keys: Any) -> Any:
        found = super()._get_indexer_like_pandas(index, keys)
        # skpro takes -1, for a label that was not found, as the last row.
        if np.size(found) and np.min(found) < 0:
            raise KeyError(f"{keys!r} holds labels that are not in {index!r}")
        return found

    # ---- methods that skpro calls, with arrays in the shape of self ------------------

    def _answer(self, name: str, x: FloatArray) -> FloatArray:
        return self._out(values_at(self.forecast, name, self._in(x)))

    def _in(self, x: Any) -> FloatArray:
        """Values with the rows as the last and only axis."""
        return np.asarray(x, dtype=np.float64).reshape(-1)

    def _out(self, values: FloatArray) -> FloatArray:
        return values.reshape(self._shape)

    def _pdf(self, x: Any) -> FloatArray:
        return self._answer("pdf", x)

    def _log_pdf(self, x: Any) -> FloatArray:
        return self._answer("logpdf", x)

    def _cdf(self, x: Any) -> FloatArray:
        return self._answer("cdf", x)

    def _surv(self, x: Any) -> FloatArray:
        return self._answer("sf", x)

    def _pmf(self, x: Any) -> FloatArray:
        return self._answer("pmf", x)

    def _log_pmf(self, x: Any) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(self._pmf(x))

    def _ppf(self, p: Any) -> FloatArray:
        return self._out(quantiles_at(self.forecast, self._in(p)))

    def _mean(self) -> FloatArray:
        return self._out(self.forecast.mean())

    def _var(self) -> FloatArray:
        return self._out(self.forecast.var())

    def _energy_self(self) -> FloatArray:
        return self._energy(self.forecast._expected_distance())

    def _energy_x(self, x: Any) -> FloatArray:
        # CRPS(F, x) = E|X - x| - E|X - X'| / 2, and the forecast has an exact CRPS.
        own = self.forecast.crps(self._in(x))
        return self._energy(own + 0.5 * self.forecast._expected_distance())

    def _energy(self, rows: FloatArray) -> FloatArray:
        return rows if self._shape else rows.reshape(())

    def _sample(self, n_samples: int | None = None) -> Any:
        # skpro's distributions draw from numpy's global state.
        rng = np.random.default_rng(np.random.randint(2**31, size=4))  # noqa: NPY002
        n = 1 if n_samples is None else n_samples
        draws = self.forecast._sample(n, rng)
        if n_samples is None:
            return pd.DataFrame(draws, self.index, self.columns) if self._shape else draws[0, 0]
        if not self._shape:
            return pd.DataFrame(draws[0])
        keys = [pd.DataFrame(draws[:, [i]], self.index, self.columns) for i in range(n)]
        return pd.concat(keys, keys=range(n))

    @classmethod
    def get_test_params(cls, parameter_set: str = "default") -> list[dict[str, Any]]:  # noqa: ARG003
        """Return forecasts for skpro's own checks: several rows, labelled rows, a scalar."""
        quantiles = Quantiles([0.1, 0.5, 0.9], [[1.0, 2.0, 4.0], [0.0, 5.0, 6.0], [-9.0, 0.0, 1.0]])
        labelled = {"index": pd.Index([1, 2, 5]), "columns": pd.Index(["a"])}
        steps = Samples([[0.0, 1.0, 3.0], [2.0, 2.5, 9.0], [-1.0, 0.0, 1.0]])
        return [
            {"forecast": quantiles},
            {"forecast": steps, **labelled},
            {"forecast": Normal(-0.5, 3.0)},
        ]


def _positions(chosen: Any, n: int) -> NDArray[np.intp]:
    """Return the row numbers that pandas' iloc would select."""
    every = np.arange(n)
    if chosen is None:
        return every
    if isinstance(chosen, slice):
        return every[chosen]
    picked = np.asarray(chosen)
    return np.atleast_1d(every[picked if picked.size else picked.astype(np.intp)])


def _check_column(chosen: Any) -> None:
    found = _positions(chosen, 1)
    if found.size != 1:
        raise IndexError(f"{found.size} columns are selected; expected one.")


def labels(given: Any, n: int, name: str) -> pd.Index:
    """Return n labels, 0 to n - 1 by default, or those of a Series or DataFrame."""
    if given is None:
        return pd.RangeIndex(n)
    found = given.index if hasattr(given, "iloc") else given
    index = found if isinstance(found, pd.Index) else pd.Index(found)
    if len(index) != n:
        what = f"the forecast has {n} rows" if name == "index" else "a forecast has one column"
        raise ValueError(
            f"{name} holds {len(index)} labels but {what}; expected {n}, one for each."
        )
    return index
