"""Forecasts of the form loc + scale * Z with one law for Z."""

from __future__ import annotations

from copy import copy
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from trueline._labels import check_labels, labels_of
from trueline._validation import FloatArray, Rows, check_positive, vector
from trueline.distributions._abstract import Distribution, ThroughLaw
from trueline.distributions._disagreement import Lines, lines_by_integrals
from trueline.laws import (
    Function,
    LaplaceLaw,
    Law,
    LogisticLaw,
    NormalLaw,
    PointLaw,
    ScoreLaw,
    StudentTLaw,
    expected,
)


class LocationScale(ThroughLaw):
    """Forecasts Y = loc + scale * Z; the subclass gives the law of Z.

    Examples
    --------
    >>> from trueline.distributions import LocationScale, Normal
    >>> issubclass(Normal, LocationScale)
    True
    """

    score_kind: ClassVar[str] = "standardised"
    _affine_score: ClassVar[bool] = True
    _closed_crps: ClassVar[bool] = True

    loc: FloatArray
    scale: FloatArray

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.loc)

    def _take(self, rows: Rows) -> Distribution:
        part = copy(self)  # the parameters have been checked already
        part.loc, part.scale = self.loc[rows], self.scale[rows]
        return part

    def _score(self, y: FloatArray) -> FloatArray:
        z = y - self.loc[:, None]
        z /= self.scale[:, None]
        return z

    def _unscore(self, s: FloatArray) -> FloatArray:
        y = s * self.scale[:, None]
        y += self.loc[:, None]
        return y

    def _common_scores(self, q: FloatArray) -> FloatArray | None:
        z = self.law.ppf(q)
        return z if z.shape[0] == 1 else None

    def _logpdf(self, y: FloatArray) -> FloatArray:
        return self._logpdf_of(self._score(y))

    def _logpdf_of(self, z: FloatArray) -> FloatArray:
        log = self.law.logpdf(z)
        log -= np.log(self.scale)[:, None]
        return log

    def _cdf_and_slope(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        cdf, slope = self.law.cdf_and_slope(self._score(y))
        slope /= self.scale[:, None]
        return cdf, slope

    def _grid(self, z: FloatArray) -> FloatArray:
        return self._unscore(self.law.edges(z))

    def _crps(self, y: FloatArray) -> FloatArray:
        score = self.law.crps(self._score(y))
        score *= self.scale[:, None]
        return score

    def _cdf_crps_logpdf(self, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        z = self._score(y)
        cdf, crps = self.law.cdf_and_crps(z)
        crps *= self.scale[:, None]
        return cdf, crps, self._logpdf_of(z)

    def _mean(self) -> FloatArray:
        return self._unscore(np.atleast_2d(self.law.mean))[:, 0]

    def _var(self) -> FloatArray:
        return np.multiply(np.square(self.scale), np.ravel(self.law.var))

    def _centre(self) -> FloatArray:
        return self.loc

    def _width(self) -> FloatArray:
        return self.scale

    def _expected_distance(self) -> FloatArray:
        return 2.0 * self.scale * np.ravel(self.law.dispersion)

    def _integrals(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        found = self.law.double_integrals(self._score(x))
        if found is None:
            return super()._integrals(x)
        scale = self.scale[:, None]
        return scale * found[0], scale * found[1], scale**2 * found[2]

    def _lines(self, edges: FloatArray) -> Lines:
        z = self._score(edges.reshape(len(edges), -1))
        found = self.law.double_integrals(z)
        if found is None:
            return super()._lines(edges)
        scores = z.reshape(edges.shape)
        return lines_by_integrals(scores, self.law.cdf(z), found)

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        made = RecalibratedLocationScale(self.loc, self.scale, law, self.score_kind)
        made._base_name = self._name
        return made

    def _widened(self, e: float) -> Distribution:
        # The addition to a quantile is e times that of the family's own standard law, which is
        # the normal score for a `Normal`. The family stays the same this way.
        if e == 0.0:
            return self
        wider = copy(self)
        wider.scale = self.scale + e
        return wider


class RecalibratedLocationScale(LocationScale):
    """A recalibrated location-scale forecast: any law for Z. Made by ``transform``.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal([0.0, 0.0, 0.0], 1.0)
    >>> G = tl.Scaling().fit([1.0, 2.0, 3.0], F).transform(F)
    >>> type(G).__name__, G.mean()
    ('RecalibratedLocationScale', array([2., 2., 2.]))
    """

    law: ScoreLaw

    _base_name: str = ""

    def __init__(self, loc: FloatArray, scale: FloatArray, law: ScoreLaw, score_kind: str) -> None:
        self.loc = loc
        self.scale = scale
        self.law = law
        self.score_kind = score_kind  # type: ignore[misc]  # that of the base forecast

    @property
    def _name(self) -> str:
        return self._base_name or super()._name

    def _learned_laws(self) -> list[Law]:
        return [self.law]

    def _expect(self, func: Function) -> FloatArray:
        return expected(self, self.law, func)

    def _from_score(self, s: FloatArray) -> FloatArray:
        return self._unscore(s)

    def _widened(self, e: float) -> Distribution:
        # The law of a recalibrated `Point` is in the unit of y, and its scale of 1 is no width.
        return self if self.score_kind == Point.score_kind else super()._widened(e)


class _Family(LocationScale):
    """A family that loc and scale determine."""

    _row_parameters: ClassVar[tuple[str, ...]] = ("loc", "scale")

    def __init__(self, loc: ArrayLike, scale: ArrayLike) -> None:
        self._labels = check_labels(loc=loc, scale=scale)
        self.loc, self.scale = _loc_and_scale(loc, scale)

    def _with(self, loc: FloatArray, scale: FloatArray) -> Distribution:
        return type(self)(loc, scale)


_FIX = {
    "scale": "A forecast without spread is a Point; otherwise add the noise it leaves out",
    "df": "Use Normal for many degrees of freedom; few give heavy tails",
}


def _loc_and_scale(loc: ArrayLike, scale: ArrayLike, **more: ArrayLike) -> tuple[FloatArray, ...]:
    """Check parameters; return them with the common number of rows each."""
    parameters = {"loc": vector(loc, "loc")}
    for name, value in {"scale": scale, **more}.items():
        parameters[name] = vector(value, name)
        check_positive(parameters[name], name, _FIX[name])
    n = max(len(p) for p in parameters.values())
    for name, p in parameters.items():
        if len(p) not in (1, n):
            lengths = ", ".join(f"{k} {len(v)}" for k, v in parameters.items())
            raise ValueError(f"rows differ: {lengths}; expected the same number, or one for all.")
        if len(p) != n:
            parameters[name] = np.full(n, p[0])
    return tuple(parameters.values())


class Normal(_Family):
    """Normal forecasts.

    Parameters
    ----------
    loc, scale : (n,) array-like or scalar
        Means and standard deviations; the latter are above 0.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal(loc=[1, 2, 3], scale=[0.1, 0.5, 1])
    >>> F.crps([1.5, 3, 2]).mean().round(6)
    np.float64(0.590806)
    """

    _kind: ClassVar[str] = "normal"
    law = NormalLaw()


class Laplace(_Family):
    """Laplace forecasts.

    Parameters
    ----------
    loc, scale : (n,) array-like or scalar
        Medians and mean absolute deviations; the latter are above 0.

    Examples
    --------
    >>> import trueline as tl
    >>> tl.Laplace(0, 1).ppf([0.05, 0.95]).round(3)
    array([[-2.303,  2.303]])
    """

    _kind: ClassVar[str] = "Laplace"
    law = LaplaceLaw()


class Logistic(_Family):
    """Logistic forecasts.

    Parameters
    ----------
    loc, scale : (n,) array-like or scalar
        Means, and scales above 0; the standard deviation is scale * pi / sqrt(3).

    Examples
    --------
    >>> import trueline as tl
    >>> tl.Logistic(0, 1).std().round(4)
    array([1.8138])
    """

    _kind: ClassVar[str] = "logistic"
    law = LogisticLaw()


class StudentT(_Family):
    """Student's t forecasts.

    Parameters
    ----------
    loc, scale : (n,) array-like or scalar
        Centres, and scales above 0, which are not the standard deviations.
    df : (n,) array-like or scalar
        Degrees of freedom, above 0. The variance is infinite up to 2, the mean up to 1, the
        CRPS up to one half.

    Examples
    --------
    >>> import trueline as tl
    >>> tl.StudentT(loc=[0, 5], scale=1, df=4).ppf(0.95).round(3)
    array([2.132, 7.132])
    """

    _kind: ClassVar[str] = "Student t"
    _row_parameters: ClassVar[tuple[str, ...]] = ("loc", "scale", "df")

    def __init__(self, loc: ArrayLike, scale: ArrayLike, df: ArrayLike) -> None:
        self._labels = check_labels(loc=loc, scale=scale, df=df)
        self.loc, self.scale, self.df = _loc_and_scale(loc, scale, df=df)
        one = bool((self.df == self.df[0]).all())
        self.law = StudentTLaw(self.df[0] if one else self.df[:, None])

    def _take(self, rows: Rows) -> Distribution:
        return StudentT(self.loc[rows], self.scale[rows], self.df[rows])

    def _with(self, loc: FloatArray, scale: FloatArray) -> Distribution:
        return StudentT(loc, scale, self.df)


class Point(LocationScale):
    """Point forecasts: all mass at one value.

    Only the score y - loc is informative. The CRPS is the absolute error, the density is
    infinite at ``loc`` and zero elsewhere. Recalibrating gives every row the spread that
    the errors on the calibration rows had (section 3.4 of the paper).

    Parameters
    ----------
    loc : (n,) array-like or scalar

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Point([1.0, 2.0, 3.0])
    >>> F.crps([1.5, 2.0, 1.0])
    array([0.5, 0. , 2. ])
    """

    score_kind: ClassVar[str] = "residual"
    _kind: ClassVar[str] = "one number per row"
    _row_parameters: ClassVar[tuple[str, ...]] = ("loc",)
    _has_spread: ClassVar[bool] = False
    _discrete: ClassVar[bool] = True
    law = PointLaw()

    def __init__(self, loc: ArrayLike) -> None:
        self.loc = vector(loc, "loc")
        self._labels = labels_of(loc)
        self.scale = np.broadcast_to(1.0, self.loc.shape)

    def _take(self, rows: Rows) -> Distribution:
        return Point(self.loc[rows])

    def _point_masses(self) -> FloatArray:
        return self.loc[:, None]

    def _widened(self, e: float) -> Distribution:
        return self

    def _continuous(self) -> Distribution:
        raise TypeError(
            "a Point forecast has no spread, so a mixture that contains one has no score. "
            "Pass the members as Samples, one draw per member, or give each a spread."
        )
