"""The interface of a batch of predictive distributions, and what follows from it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtr

from trueline._validation import FloatArray, Rows
from trueline.distributions._atoms import Atoms
from trueline.distributions._disagreement import Lines, lines_by_integrals, lines_by_nodes
from trueline.distributions._public import PublicMethods
from trueline.distributions._quadrature import Quadrature, integrals_below
from trueline.distributions._shown import as_html, described
from trueline.distributions._upper import upper_quantiles
from trueline.laws import (
    LOG_SQRT_2PI,
    Function,
    Law,
    NormalLaw,
    ScoreLaw,
    expected,
    expected_of_masses,
    normal_score,
    solve_increasing,
)

# Normal scores up to which a probability keeps enough digits to be inverted.
_NEAR = 5.0
# Relative error of a CDF that is computed from a score.
_ROUNDING = 1e-12
# Levels with a negligible mass beyond them.
_OUTERMOST = np.array([[1e-12, 1.0 - 1e-12]])
_NORMAL = NormalLaw()


class Distribution(PublicMethods):
    """A batch of n predictive distributions, one per row.

    A subclass gives ``__len__``, ``_take``, ``_cdf``, ``_ppf`` and ``_logpdf``. All other
    methods follow from these, by quadrature if there is no closed form; a subclass with a
    closed form overrides them. Methods that start with an underscore work on checked float64
    arrays of two dimensions: values y of shape (n, k), levels q of shape (1, m) or (n, m).

    Shapes of the public methods: a scalar level ``q`` gives (n,), m levels in 1-D give
    (n, m). A scalar ``y`` or one of shape (n,) gives (n,); (n, k) or (1, k) give (n, k).

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Normal([0.0, 10.0], [1.0, 2.0])
    >>> F.ppf([0.1, 0.5]).round(2)
    array([[-1.28,  0.  ],
           [ 7.44, 10.  ]])
    >>> len(F), len(F[[True, False]])
    (2, 1)
    """

    #: What the score measures. A map that was fitted on one kind cannot be used on another.
    score_kind: ClassVar[str] = "normal score"
    #: The kind of forecast in ordinary words; the name of the class if empty.
    _kind: ClassVar[str] = ""
    #: Labels of the rows, a pandas index, if the forecast was made of rows that have labels.
    _labels: Any = None
    #: Whether the score is (y - loc) / scale.
    _affine_score: ClassVar[bool] = False
    #: Attributes with one entry per row that, in this order, construct the class; or none.
    _row_parameters: ClassVar[tuple[str, ...]] = ()
    #: Whether rows have a spread; a point forecast has none.
    _has_spread: ClassVar[bool] = True
    #: Whether the CRPS of a recalibrated forecast has a closed form; otherwise it is slow.
    _closed_crps: ClassVar[bool] = False
    #: Whether `_integrals` has a closed form.
    _exact_integrals: ClassVar[bool] = False
    #: Whether all mass is on atoms.
    _discrete: ClassVar[bool] = False
    #: Normal score up to which the CDF and the survival function have enough digits.
    _reach: ClassVar[float] = np.inf

    # ---- what a subclass gives -------------------------------------------------------

    @abstractmethod
    def _take(self, rows: Rows) -> Distribution:
        """Return the rows at these indices."""

    @abstractmethod
    def _cdf(self, y: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _logpdf(self, y: FloatArray) -> FloatArray: ...

    @property
    def _smooth(self) -> bool:
        """Whether the density is continuous, so that its local values describe the CDF around."""
        return True

    # ---- probabilities and quantiles -------------------------------------------------

    def _cdf_and_slope(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """CDF and its slope, which need not be right at atoms; for root finders."""
        with np.errstate(over="ignore"):
            return self._cdf(y), np.exp(self._logpdf(y))

    def _cdf_left(self, y: FloatArray) -> FloatArray:
        """P(Y < y); differs from the CDF at atoms only."""
        return self._cdf(y)

    def _pmf(self, y: FloatArray) -> FloatArray:
        """P(Y = y); steps of the CDF that are no larger than its rounding error count as none."""
        cdf = self._cdf(y)
        mass = cdf - self._cdf_left(y)
        return np.where(mass > _ROUNDING * cdf, mass, 0.0)

    def _sf(self, y: FloatArray) -> FloatArray:
        return 1.0 - self._cdf(y)

    def _logcdf(self, y: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(self._cdf(y))

    def _logsf(self, y: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.log(self._sf(y))

    def _isf(self, q: FloatArray) -> FloatArray:
        """Smallest y with P(Y > y) at most q; q of shape (1, m) or (n, m)."""
        return upper_quantiles(self, q)

    def _grid(self, z: FloatArray) -> FloatArray:
        """Increasing values per row that resolve the distribution, from normal scores z."""
        return self._ppf(ndtr(z)[None, :])

    @property
    def _component_support(self) -> tuple[float, float]:
        """Levels that the calibration rows of every mixture component support."""
        return self._supported

    @property
    def _n_fit(self) -> float | None:
        """Number of rows that the forecasts were recalibrated on; None if it is not known."""
        return None

    # ---- atoms -----------------------------------------------------------------------

    @property
    def _may_have_atoms(self) -> bool:
        """Whether this kind of forecast can have atoms, so that `_cdf_left` must be computed."""
        return type(self)._cdf_left is not Distribution._cdf_left

    def _has_atoms(self) -> bool:
        """Whether some value of some row has a positive probability."""
        return self._may_have_atoms

    def _pit_bounds(self, y: FloatArray, cdf: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Ends of the interval over which a randomised PIT at y is uniform; `cdf` is F(y)."""
        return self._cdf_left(y), cdf

    def _point_masses(self) -> FloatArray | None:
        """Equally likely values of each row, (n, k), that hold all mass; None if there are none."""
        return None

    @property
    def _atoms(self) -> Atoms | None:
        """How the forecast was cut to have atoms; None if it was not."""
        return None

    def _uncut(self) -> Distribution:
        """Return the forecast before it was cut; itself if it was not."""
        return self

    def _interval(self, coverage: FloatArray) -> tuple[FloatArray, FloatArray]:
        if self._atoms is None:
            return super()._interval(coverage)
        # A central interval would contain more than the atoms make necessary.
        found = [self._atoms.interval(self, float(c)) for c in np.atleast_1d(coverage)]
        lower, upper = (np.stack(ends, axis=1) for ends in zip(*found, strict=True))
        return (lower, upper) if np.ndim(coverage) else (lower[:, 0], upper[:, 0])

    def _atom_mass(self, y: FloatArray) -> FloatArray:
        """Probability of y as a reader of the forecast would put it; see `Interpolated`."""
        return self._pmf(y)

    def _interval_mass(self, coverage: float, lower: FloatArray, upper: FloatArray) -> FloatArray:
        """Probability that outcomes fall inside intervals of this coverage, ends included, (n,).

        It is the coverage itself, unless atoms or a small number of draws move it.
        """
        if not self._has_atoms():
            return np.full(len(self), coverage)
        return (self._cdf(upper[:, None]) - self._cdf_left(lower[:, None]))[:, 0]

    # ---- moments and scores of forecasts ---------------------------------------------

    def _quadrature(self) -> Quadrature:
        return Quadrature(self, NormalLaw())

    def _mean(self) -> FloatArray:
        return self._quadrature().mean()

    def _var(self) -> FloatArray:
        return self._quadrature().var()

    def _crps(self, y: FloatArray) -> FloatArray:
        return self._quadrature().crps(y)

    def _cdf_crps_logpdf(self, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """CDF, CRPS and log density together, because some classes share work among them."""
        return self._cdf(y), self._crps(y), self._logpdf(y)

    def _expect(self, func: Function) -> FloatArray:
        """E func(Y), (n,), for an elementwise function."""
        masses = self._point_masses()
        if masses is not None:
            return expected_of_masses(masses, func)
        return expected(self, _NORMAL, func)

    def _from_score(self, s: FloatArray) -> FloatArray:
        """Values at the scores whose law `_expect` integrates over: normal scores by default."""
        below = self._ppf(ndtr(np.minimum(s, 0.0)))
        return np.where(s < 0, below, self._isf(ndtr(-np.maximum(s, 0.0))))

    def _centre(self) -> FloatArray:
        """``loc`` if the forecast has one, which is always finite; otherwise the mean, (n,)."""
        return self._mean()

    def _width(self) -> FloatArray:
        """``scale`` if the forecast has one, otherwise the standard deviation, (n,)."""
        return self.std()

    def _expected_distance(self) -> FloatArray:
        """E|X - X'| of two independent draws of each row, (n,); infinite or NaN as its CRPS is.

        It is read off the CRPS at two values u and v with a negligible mass beyond them:
        there E|X - u| is the mean less u and E|X - v| is v less the mean, so the two CRPS
        add up to v - u - E|X - X'|.
        """
        far = self._ppf(_OUTERMOST)
        return far[:, 1] - far[:, 0] - self._crps(far).sum(axis=1)

    def _integrals(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Integrals below x of the CDF, of its square, and of the first of these, (n, k) each."""
        return integrals_below(self, x)

    def _lines(self, edges: FloatArray) -> Lines:
        """Straight lines that follow the CDF on panels between edges, (n, g, e); see `Lines`."""
        if not self._exact_integrals:
            return lines_by_nodes(self, edges)
        x = edges.reshape(len(edges), -1)
        return lines_by_integrals(edges, self._cdf(x), self._integrals(x))

    # ---- the score and its law -------------------------------------------------------

    def _score_bounds(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scores just below and at y, which differ only where the forecast has an atom at y.

        They are one array if the forecast has no atoms, and infinite where an atom holds all
        mass on one side.
        """
        s = self._score(y)
        return s, s

    def _score(self, y: FloatArray) -> FloatArray:
        return normal_score(self._logcdf(y), self._logsf(y))

    def _log_slope(self, y: FloatArray, s: FloatArray) -> FloatArray:
        """Log of ds/dy, which is f(y) / phi(s), at values with these scores."""
        return self._logpdf(y) + 0.5 * s * s + LOG_SQRT_2PI

    def _unscore(self, s: FloatArray) -> FloatArray:
        shape = (len(self), s.shape[1])
        target = np.broadcast_to(s, shape)
        y = np.array(np.broadcast_to(self._ppf(ndtr(np.clip(s, -_NEAR, _NEAR))), shape))
        # Further out a probability has too few digits, so solve for the score itself.
        far = (np.abs(target) > _NEAR) & np.isfinite(target)
        if far.any():
            rows = np.broadcast_to(np.arange(len(self))[:, None], shape)[far]
            step = np.abs(y[far] - self._ppf(np.array([[0.5]]))[rows, 0])
            ends = y[far] + step * (target[far] - np.copysign(_NEAR, target[far]))
            y[far] = solve_increasing(
                self._score_excess,
                np.minimum(y[far], ends),
                np.maximum(y[far], ends),
                args=(target[far], rows),
            )
        return np.where(np.isinf(target), target, y)

    def _score_excess(self, y: FloatArray, target: FloatArray, rows: Rows) -> FloatArray:
        """Score of each y in its row, less its target; all of shape (m,)."""
        part = self._take(rows.astype(np.intp))
        return (part._score(y[:, None]) - target[:, None])[:, 0]

    def _common_scores(self, q: FloatArray) -> FloatArray | None:
        """Scores z, (1, m), with quantiles loc + scale * z in every row; None if there are none."""
        return None

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        """Return the distribution whose score has this law."""
        return RecalibratedScores(self, law)

    def _continuous(self) -> Distribution:
        """Return the distribution that the score belongs to; itself unless it has steps."""
        return self

    # ---- how the forecast is made up -------------------------------------------------

    @property
    def _draw_count(self) -> int | None:
        """Number of draws per row, if the forecast is given by draws."""
        return None

    def _parts(self) -> list[tuple[Distribution, Rows]]:
        """Forecasts of which this one is stacked, with the rows that each fills; or none."""
        return []

    def _learned_laws(self) -> list[Law]:
        """Laws that recalibrators have put in place of the forecast's own."""
        return []

    def _with(self, loc: FloatArray, scale: FloatArray) -> Distribution | None:
        """Return the same family with other parameters, (n,) each; None if it has not both."""
        return None

    def _widened(self, e: float) -> Distribution:
        """Return forecasts whose quantiles are those of this one plus e times a normal score.

        A row that is far too narrow then has an ordinary score. The score still increases with
        y, and the rows of a selection are widened as in the whole. Zero returns the object
        itself, and so does a class that does not define how it is widened, such as `Point`.

        Parameters
        ----------
        e : float
            The standard deviation that a row without any spread gets, in the unit of y; 0 or
            more.
        """
        return self

    @property
    def _name(self) -> str:
        """The kind of forecast before it was recalibrated, as it is shown."""
        return type(self).__name__

    def __repr__(self) -> str:
        """Return the kind of forecast, its number of rows, and what it was recalibrated by."""
        return described(self)

    def _repr_html_(self) -> str:
        """Return a table of the first rows, for notebooks."""
        return as_html(self)

    def __getitem__(self, rows: Any) -> Distribution:
        """Return some of the rows: an integer, a slice, a mask or an array of indices."""
        try:
            if isinstance(rows, slice):  # costs as much as it selects, however long the batch is
                index = np.arange(*rows.indices(len(self)))
            else:
                index = np.arange(len(self))[rows]
        except IndexError as error:
            raise IndexError(f"rows of a {self!r} cannot be selected: {error}.") from None
        if np.ndim(index) > 1 or np.size(index) == 0:
            raise IndexError(
                f"the selection from a {self!r} has shape {np.shape(index)}; "
                f"expected at least one row, in one dimension."
            )
        taken = self._take(np.atleast_1d(index))
        if self._labels is not None and len(self._labels) == len(self):
            taken._labels = self._labels[np.atleast_1d(index)]
        return taken


class ThroughLaw(Distribution):
    """A forecast given by its score and the law of that score; a subclass gives both.

    Examples
    --------
    >>> from trueline.distributions import Normal, ThroughLaw
    >>> issubclass(Normal, ThroughLaw)
    True
    """

    #: The law of the score.
    law: Law

    @property
    def _supported(self) -> tuple[float, float]:
        return self.law.supported

    @property
    def _n_fit(self) -> float | None:
        return self.law.n_fit

    @property
    def _smooth(self) -> bool:
        return self.law.smooth

    @property
    def _may_have_atoms(self) -> bool:
        return self.law.has_atoms

    def _cdf(self, y: FloatArray) -> FloatArray:
        return self.law.cdf(self._score(y))

    def _cdf_left(self, y: FloatArray) -> FloatArray:
        return self.law.cdf_left(self._score(y))

    def _sf(self, y: FloatArray) -> FloatArray:
        return self.law.sf(self._score(y))

    def _logcdf(self, y: FloatArray) -> FloatArray:
        return self.law.logcdf(self._score(y))

    def _logsf(self, y: FloatArray) -> FloatArray:
        return self.law.logsf(self._score(y))

    def _ppf(self, q: FloatArray) -> FloatArray:
        return self._unscore(self.law.ppf(q))

    def _isf(self, q: FloatArray) -> FloatArray:
        return self._unscore(self.law.isf(q))


class RecalibratedScores(ThroughLaw):
    """A recalibrated forecast of any kind: another law for the normal score of the base.

    Mean, variance and CRPS are by `Quadrature`; all else is exact. Made by ``transform``.
    It stands beside `Distribution`, which makes it and is its base class.

    Examples
    --------
    >>> import trueline as tl
    >>> F = tl.Mixture([tl.Normal([0.0, 0.0, 0.0], 1.0)])
    >>> G = tl.Scaling().fit([1.0, 2.0, 3.0], F).transform(F)
    >>> G, G.median().round(6)
    (Mixture(3 rows), recalibrated by Scaling on 3 rows, array([2., 2., 2.]))
    """

    law: ScoreLaw
    _may_have_atoms = True

    @property
    def _smooth(self) -> bool:
        return self.law.smooth and self.base._smooth

    def __init__(self, base: Distribution, law: ScoreLaw) -> None:
        self.base = base
        self.law = law

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.base)

    def _take(self, rows: Rows) -> Distribution:
        return RecalibratedScores(self.base._take(rows), self.law)

    @property
    def _name(self) -> str:
        return self.base._name

    def _score(self, y: FloatArray) -> FloatArray:
        return self.base._score(y)

    def _unscore(self, s: FloatArray) -> FloatArray:
        return self.base._unscore(s)

    def _logpdf(self, y: FloatArray) -> FloatArray:
        s = self._score(y)
        # An infinite score has density 0, but its slope may be NaN.
        with np.errstate(invalid="ignore"):
            out = self.law.logpdf(s) + self.base._log_slope(y, s)
        return np.where(np.isinf(s), -np.inf, out)

    def _grid(self, z: FloatArray) -> FloatArray:
        edges = [self.base._grid(z), self._unscore(self.law.edges(z))]
        return np.sort(np.concatenate(edges, axis=1), axis=1)

    def _quadrature(self) -> Quadrature:
        return Quadrature(self.base, self.law)

    def _expect(self, func: Function) -> FloatArray:
        return expected(self, self.law, func)

    def _from_score(self, s: FloatArray) -> FloatArray:
        return self._unscore(s)

    def _has_atoms(self) -> bool:
        return self.base._has_atoms() or self.law.has_atoms

    def _recalibrate(self, law: ScoreLaw) -> Distribution:
        return RecalibratedScores(self.base, law)

    def _learned_laws(self) -> list[Law]:
        return [self.law]

    def _widened(self, e: float) -> Distribution:
        base = self.base._widened(e)
        return self if base is self.base else RecalibratedScores(base, self.law)
