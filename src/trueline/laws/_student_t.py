"""Student's t law."""

from __future__ import annotations

import numpy as np
from scipy.special import beta, betaln, stdtr, stdtrit

from trueline._validation import FloatArray
from trueline.laws._abstract import SymmetricLaw
from trueline.laws._search import solve_increasing

# Below this the incomplete beta function in `stdtr` is close to underflow.
_TINY = 1e-280
_DEEP = 1e-40
_GAP = 1e-4
_LOG_HUGE = np.log(np.finfo(np.float64).max)


class StudentTLaw(SymmetricLaw):
    """Student's t with `df` degrees of freedom: a scalar, or (n, 1) for one per row."""

    def __init__(self, df: FloatArray) -> None:
        self.df = df
        # As in scipy.stats, the mean is infinite up to one degree of freedom.
        self.mean = np.where(df > 1, 0.0, np.inf)

    def cdf(self, z: FloatArray) -> FloatArray:
        return stdtr(self.df, z)

    def logcdf(self, z: FloatArray) -> FloatArray:
        p = stdtr(self.df, z)
        far = p < _TINY
        with np.errstate(divide="ignore"):
            out = np.asarray(np.log(p))
        if far.any():
            t, df = np.broadcast_arrays(z, self.df)
            out[far] = self._log_tail(-t[far], df[far])
        # Near 1 the logarithm keeps its digits only if computed from the other tail.
        return np.where(z > 0, np.log1p(-stdtr(self.df, -np.abs(z))), out)

    @staticmethod
    def _log_tail(t: FloatArray, df: FloatArray) -> FloatArray:
        # P(T > t) = f(t) (df + t^2) / (df t) 2F1(1/2, 1; df/2 + 1; -df / t^2) for large t
        # (DLMF 8.17.8 and 15.8.1). Four terms suffice: t > 35 wherever `stdtr` underflows.
        x = -df / t / t
        c = 0.5 * df + 1.0
        series = np.ones_like(t)
        term = np.ones_like(t)
        with np.errstate(invalid="ignore"):
            for k in range(4):
                term = term * x * (0.5 + k) / (c + k)
                series += term
            out = _log_pdf(t, df) + np.log(t) - np.log(df) + np.log1p(-x) + np.log(series)
        return np.where(np.isinf(t), -np.inf, out)

    def logpdf(self, z: FloatArray) -> FloatArray:
        return _log_pdf(z, self.df)

    def ppf(self, q: FloatArray) -> FloatArray:
        # Solved in the lower tail, where q keeps its digits, then mirrored.
        tail, df = np.broadcast_arrays(np.minimum(q, 1.0 - q), self.df)
        # scipy returns +inf at both ends.
        t = np.where(tail > 0, stdtrit(df, tail), -np.inf)
        deep = (tail < _DEEP) & (tail > 0)
        if deep.any():
            # `stdtrit` fails here: solve for log |t| in the logarithm of the tail.
            t[deep] = -np.exp(_log_tail_quantile(np.log(tail[deep]), df[deep]))
        return np.where(q == 0.5, 0.0, np.where(q < 0.5, t, -t))

    def integral(self, z: FloatArray) -> FloatArray:
        # z R(z) + f(z) (df + z^2) / (df - 1); the second term in logarithms, as z^2 may overflow.
        df = np.maximum(self.df, 1.0 + 1e-9)
        rest = np.exp(_log_pdf(z, df) + np.log(df) + _log_growth(z, df)) / (df - 1.0)
        return np.where(self.df > 1, z * stdtr(self.df, z) + rest, np.inf)

    @property
    def var(self) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.where(self.df > 2, self.df / np.abs(self.df - 2.0), np.inf)

    @property
    def dispersion(self) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.df > 1, 2.0 * _half_spread(self.df) / (self.df - 1.0), np.inf)

    def crps(self, z: FloatArray) -> FloatArray:
        # Up to one degree of freedom E|Z| is infinite but the CRPS is not: it and its closed
        # form are analytic in df down to one half, with a removable singularity at 1.
        df = np.where(self.df > 0.5, self.df, np.nan)
        near = np.abs(df - 1.0) < _GAP
        middle = 0.5 * (df + 1.0)
        slope = (_excess(z, middle + _GAP) - _excess(z, middle - _GAP)) / (2.0 * _GAP)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(near, slope, _excess(z, df) / (df - 1.0))
        score = z * (2.0 * stdtr(self.df, z) - 1.0) + 2.0 * slope
        return np.where(self.df > 0.5, score, np.inf)


def _log_pdf(t: FloatArray, df: FloatArray) -> FloatArray:
    constant = -betaln(0.5, 0.5 * df) - 0.5 * np.log(df)
    return constant - 0.5 * (df + 1.0) * _log_growth(t, df)


def _log_growth(t: FloatArray, df: FloatArray) -> FloatArray:
    """log(1 + t^2 / df), also for |t| up to 1e300, where t^2 overflows."""
    with np.errstate(over="ignore"):
        ratio = (t / np.sqrt(df)) ** 2
    return np.where(
        np.isfinite(ratio), np.log1p(ratio), 2.0 * (np.log(np.abs(t) + 1.0) - 0.5 * np.log(df))
    )


def _log_tail_excess(log_t: FloatArray, log_p: FloatArray, df: FloatArray) -> FloatArray:
    return log_p - StudentTLaw(df).logcdf(-np.exp(np.minimum(log_t, _LOG_HUGE)))


def _log_tail_quantile(log_p: FloatArray, df: FloatArray) -> FloatArray:
    """Log of t with log P(T > t) = log_p; infinite where t is beyond the largest float."""
    low, high = np.zeros_like(log_p), np.full_like(log_p, _LOG_HUGE)
    within = _log_tail_excess(high, log_p, df) >= 0
    log_t = np.full_like(log_p, np.inf)
    log_t[within] = solve_increasing(
        _log_tail_excess, low[within], high[within], args=(log_p[within], df[within])
    )
    return log_t


def _half_spread(df: FloatArray) -> FloatArray:
    # (df - 1) / 2 times the integral of R (1 - R): Jordan, Krueger and Lerch (2019),
    # "Evaluating probabilistic forecasts with scoringRules", appendix A.
    return np.asarray(np.sqrt(df) * beta(0.5, df - 0.5) / beta(0.5, 0.5 * df) ** 2)


def _excess(z: FloatArray, df: FloatArray) -> FloatArray:
    """(df - 1) / 2 times the difference of the CRPS and z (2 R(z) - 1)."""
    # In logarithms, because z^2 may overflow.
    return np.exp(_log_pdf(z, df) + np.log(df) + _log_growth(z, df)) - _half_spread(df)
