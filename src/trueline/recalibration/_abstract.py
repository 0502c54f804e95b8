"""What every recalibrator can do."""

from __future__ import annotations

import inspect
import os
import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import CalibrationWarning, NotFittedError
from trueline.distributions import Distribution
from trueline.laws import ScoreLaw
from trueline.recalibration._scores import Scores, collect, combine, finite_scores, score_rows
from trueline.recalibration._state import State

_KINDS = {
    "standardised": "Normal, StudentT, Laplace, Logistic",
    "residual": "Point",
    "normal score": "Samples, Quantiles, Mixture and others",
}


class Recalibrator(ABC):
    """A map R from scores to probabilities, such that R(score(y)) is calibrated.

    ``fit`` it on outcomes and forecasts that the model was not trained on, ``transform``
    new forecasts. Parameters follow scikit-learn's manners (``get_params``, ``set_params``,
    ``clone``); what is learned ends in an underscore.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> y, F = rng.normal(size=1000), tl.Normal(np.zeros(1000), 0.2)  # five times too sure
    >>> R = tl.Isotonic().fit(y, F)
    >>> isinstance(R, tl.Recalibrator), R.transform(F).std()[0].round(1)
    (True, np.float64(1.0))
    """

    _by_group: ClassVar[bool] = False  # whether fit and transform need the group of each row
    _state_fields: ClassVar[frozenset[str]] = frozenset({"scores"})  # what `_state` returns

    @abstractmethod
    def fit(
        self,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn the map from outcomes and their forecasts."""

    def partial_fit(
        self,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows as well."""
        raise self._refusal("learn in parts")

    @abstractmethod
    def transform(self, dist: Distribution, groups: ArrayLike | None = None) -> Distribution:
        """Return the recalibrated forecasts."""

    def merge(self, other: Self) -> Self:
        """Return the map that a fit on both sets of rows gives."""
        raise self._refusal("merge")

    def _pool(self, other: Self) -> Self:
        """Merge within the limits of ``partial_fit``."""
        return self.merge(other)

    def compress(self, max_knots: int) -> Self:
        """Return a map with a smaller state; ``compression_error_`` says what it cost."""
        raise self._refusal("compress")

    @property
    def compression_error_(self) -> float:
        """Largest change of the map's empirical CDF by compression; 0 without any."""
        self._check_fitted()
        return 0.0

    def _state(self) -> dict[str, Any]:
        """Return what was learned, as JSON types."""
        raise self._refusal("become JSON")

    def _set_state(self, state: dict[str, Any]) -> None:
        """Take what was learned from checked JSON types."""
        raise self._refusal("come from JSON")

    def _refusal(self, what: str, why: str = "") -> NotImplementedError:
        """What a class cannot do unless it says how, and why it cannot."""
        self._check_fitted()
        return NotImplementedError(f"{type(self).__name__} does not {what}{why and ': '}{why}.")

    @abstractmethod
    def _is_fitted(self) -> bool: ...

    def _check_params(self) -> None:  # noqa: B027  # nothing to check unless there are parameters
        """Raise if a parameter is not what the class expects."""

    def _check_fitted(self) -> None:
        if not self._is_fitted():
            raise self._not_fitted()

    def _not_fitted(self) -> NotFittedError:
        return NotFittedError(f"{type(self).__name__} is not fitted: call fit(y, dist) first.")

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Write the fitted map as JSON, exactly; `trueline.load` reads it back.

        Parameters
        ----------
        path : path, optional
            File to write. It appears whole or not at all.

        Returns
        -------
        str
            The JSON text.

        Examples
        --------
        >>> import trueline as tl
        >>> R = tl.Scaling().fit([1.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
        >>> R.to_json()[:48]
        '{"format": "trueline-recalibrator", "version": 1'
        """
        from trueline.recalibration._persistence import dump

        self._check_fitted()
        return dump(self, path)

    def to_bytes(self, path: str | os.PathLike[str] | None = None) -> bytes:
        """Write the fitted map as bytes, exactly and smaller than JSON; `trueline.load` reads it.

        Parameters
        ----------
        path : path, optional
            File to write. It appears whole or not at all.

        Returns
        -------
        bytes
            What is in the file.

        Examples
        --------
        >>> import trueline as tl
        >>> R = tl.Scaling().fit([1.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
        >>> tl.load(R.to_bytes()).transform(tl.Normal(0.0, 1.0)).mean()
        array([2.])
        """
        from trueline.recalibration._persistence import dump_bytes

        self._check_fitted()
        return dump_bytes(self, path)

    @classmethod
    def _param_names(cls) -> list[str]:
        return [p for p in inspect.signature(cls).parameters if p != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and with ``deep`` those of parameters that have their own.

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Isotonic().get_params()
        {'finite_sample': True}
        """
        params = {name: getattr(self, name) for name in self._param_names()}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Recalibrator):
                    inner = value.get_params()
                    params.update({f"{name}__{key}": inner[key] for key in inner})
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; ``outer__inner`` reaches a nested recalibrator.

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Grouped(tl.Isotonic()).set_params(recalibrator__finite_sample=False)
        Grouped(recalibrator=Isotonic(finite_sample=False))
        """
        self._settle()
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if outer not in self._param_names():
                raise ValueError(
                    f"{type(self).__name__} has no parameter {outer!r}; "
                    f"expected one of {self._param_names()}."
                )
            if inner:
                nested = getattr(self, outer)
                if not isinstance(nested, Recalibrator):
                    raise ValueError(
                        f"{name} cannot be set: {outer} is {nested!r}; expected a recalibrator. "
                        f"Set {outer} first."
                    )
                nested.set_params(**{inner: value})
            else:
                setattr(self, outer, value)
        return self

    def _settle(self) -> None:  # noqa: B027  # nothing is left to compute unless a class is lazy
        """Compute what was left for later, before a parameter changes."""

    def _unfitted_copy(self) -> Self:
        return type(self)(**self.get_params(deep=False))

    def _check_mergeable(self, other: Recalibrator) -> None:
        from trueline.recalibration._persistence import describe

        if type(other) is not type(self) or describe(other) != describe(self):
            raise ValueError(
                f"{self!r} and {other!r} do not merge; expected the same class with the same "
                f"parameters."
            )
        self._check_fitted()
        other._check_fitted()

    def __repr__(self) -> str:
        """Return the constructor call, with the parameters that are not at their defaults."""
        defaults = inspect.signature(type(self)).parameters
        shown = [
            f"{name}={getattr(self, name)!r}"
            for name in self._param_names()
            if repr(getattr(self, name)) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


class Pooled(Recalibrator):
    """A recalibrator with one map for all rows, computed from the sorted scores alone.

    That makes every such map independent of the order of rows, mergeable and compressible:
    a subclass says only which law it reads off the scores.
    """

    _scores: Scores | None = None
    _stream: State | None = None

    @abstractmethod
    def _law(self, scores: Scores) -> ScoreLaw:
        """Return the law of the score."""

    @property
    def scores_(self) -> Scores:
        """The sorted scores of the rows that the map was fitted on."""
        if self._scores is None:
            if self._stream is None:
                raise self._not_fitted()
            self._scores = self._stream.scores()
        return self._scores

    @property
    def law_(self) -> ScoreLaw:
        """The fitted law of the score: R is its CDF."""
        self._check_fitted()
        if self._fitted_law is None:
            self._fitted_law = self._law(self.scores_)
        return self._fitted_law

    _fitted_law: ScoreLaw | None = None

    def _settle(self) -> None:
        if self._is_fitted():
            _ = self.law_

    def fit(
        self,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn the map from outcomes and their forecasts.

        Parameters
        ----------
        y : (n,) array-like
            Outcomes, finite.
        dist : Distribution of n rows
            Their forecasts, by a model that was not trained on these rows.
        sample_weight : (n,) array-like, optional
            A weight of k counts as k rows; of 0, as none.
        groups : None
            For `Grouped` only.

        Returns
        -------
        self
        """
        self._refuse_groups(groups)
        self._check_params()
        outcome, s, w = score_rows(y, dist, sample_weight)
        scores = collect(dist.score_kind, outcome, s, w)
        warn_if_weak(scores, len(dist) if w is None else int(np.count_nonzero(w)))
        return self._learn(scores)

    def partial_fit(
        self,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows as well; the first time it is ``fit``.

        The map is that of a fit on all rows so far, in any order, while there are at most 2^20
        distinct scores. Beyond, scores are rounded by a share of at most 2^-17 of themselves, so
        that the memory does not grow with the rows.

        Parameters
        ----------
        y : (n,) array-like
            Outcomes, finite.
        dist : Distribution of n rows
            Their forecasts, of the same kind each time.
        sample_weight : (n,) array-like, optional
            A weight of k counts as k rows; of 0, as none.
        groups : None
            For `Grouped` only.

        Returns
        -------
        self
            If something is wrong with the rows it is as it was before.

        Examples
        --------
        >>> import trueline as tl
        >>> R = tl.Isotonic()
        >>> for y in ([1.0, 2.0], [3.0, 4.0]):
        ...     _ = R.partial_fit(y, tl.Point([0.0, 0.0]))
        >>> R.transform(tl.Point(0.0)).cdf(3.0)
        array([0.6])
        """
        self._refuse_groups(groups)
        self._check_params()
        if self._is_fitted():
            check_kind(self, self._kind(), dist)
        s, w = finite_scores(*score_rows(y, dist, sample_weight))
        if self._stream is None:
            known = self._is_fitted()
            self._stream = State.of(self.scores_) if known else State(dist.score_kind)
        self._stream.add(s, w)
        self._scores = self._fitted_law = None
        return self

    def _kind(self) -> str:
        return self.scores_.kind if self._stream is None else self._stream.kind

    def _refuse_groups(self, groups: ArrayLike | None) -> None:
        if groups is not None:
            raise ValueError(
                f"{type(self).__name__} fits one map for all rows and takes no groups. "
                f"Use Grouped({type(self).__name__}()) for one map a group."
            )

    def _learn(self, scores: Scores) -> Self:
        self._scores = scores
        self._stream = self._fitted_law = None
        return self

    def transform(self, dist: Distribution, groups: ArrayLike | None = None) -> Distribution:
        """Return the recalibrated forecasts.

        Parameters
        ----------
        dist : Distribution
            Forecasts of the kind that the map was fitted on.
        groups : None
            For `Grouped` only.

        Returns
        -------
        Distribution
        """
        self._check_fitted()
        if groups is not None:
            raise ValueError(f"{type(self).__name__} takes no groups; it has one map for all rows.")
        check_kind(self, self.scores_.kind, dist)
        return dist._recalibrate(self.law_)

    def merge(self, other: Self) -> Self:
        """Return the map that a fit on both sets of rows gives.

        Examples
        --------
        >>> import trueline as tl
        >>> F = tl.Point([0.0, 0.0])
        >>> R = tl.Isotonic().fit([1.0, 2.0], F).merge(tl.Isotonic().fit([3.0, 4.0], F))
        >>> R.transform(tl.Point(0.0)).cdf(3.0)
        array([0.6])
        """
        self._check_mergeable(other)
        kinds = self.scores_.kind, other.scores_.kind
        if kinds[0] != kinds[1]:
            raise ValueError(
                f"the maps were fitted on different scores ({kinds[0]} and {kinds[1]}); expected "
                f"forecasts of the same kind in both."
            )
        return self._unfitted_copy()._learn(combine(self.scores_, other.scores_))

    def _pool(self, other: Self) -> Self:
        """Merge as ``partial_fit`` would have: within its limit, so that states stay small."""
        merged = self.merge(other)
        return merged._learn(State.of(merged.scores_).scores())

    def compress(self, max_knots: int) -> Self:
        """Return a map fitted on at most `max_knots` of the scores.

        Parameters
        ----------
        max_knots : int
            At least 2.

        Returns
        -------
        Recalibrator
            Its ``compression_error_`` is the largest change of the empirical CDF.

        Examples
        --------
        >>> import numpy as np
        >>> import trueline as tl
        >>> y = np.random.default_rng(0).normal(size=10_000)
        >>> R = tl.Isotonic().fit(y, tl.Point(np.zeros(10_000))).compress(1000)
        >>> len(R.scores_.values), R.compression_error_ < 1e-3
        (1000, True)
        """
        check_max_knots(max_knots)
        self._check_fitted()
        return self._unfitted_copy()._learn(self.scores_.compress(max_knots))

    @property
    def compression_error_(self) -> float:
        """Largest change of the map's empirical CDF by compression; 0 without any.

        Rounding is not in it: where ``partial_fit`` has met more than 2^20 distinct scores it
        moves each by a share of at most 2^-17 (7.6e-6) of itself, and no score past another.
        """
        self._check_fitted()
        return self.scores_.error

    def _is_fitted(self) -> bool:
        return self._scores is not None or self._stream is not None

    def _state(self) -> dict[str, Any]:
        from trueline.recalibration._persistence import scores_to_json

        return {"scores": scores_to_json(self.scores_)}

    def _set_state(self, state: dict[str, Any]) -> None:
        from trueline.recalibration._persistence import scores_from_json

        self._learn(scores_from_json(state["scores"]))


def check_kind(recalibrator: Recalibrator, kind: str, dist: Distribution) -> None:
    """Raise unless the forecasts have scores of this kind."""
    if not isinstance(dist, Distribution):
        raise TypeError(
            f"dist is a {type(dist).__name__}; expected a trueline distribution. "
            f"Convert it with trueline.as_distribution(dist)."
        )
    if dist.score_kind != kind:
        raise ValueError(
            f"this {type(recalibrator).__name__} was fitted on '{kind}' scores "
            f"({_KINDS.get(kind, 'other forecasts')}), but a {type(dist).__name__} has "
            f"'{dist.score_kind}' scores. Fit a map on forecasts of the same kind."
        )


def check_max_knots(max_knots: int) -> None:
    """Raise unless it is an integer of at least 2."""
    if not isinstance(max_knots, int | np.integer) or max_knots < 2:
        raise ValueError(f"max_knots is {max_knots!r}; expected an integer of 2 or more.")


def warn_if_weak(scores: Scores, rows: int) -> None:
    """Warn where the map will say less than it seems to; called from a public ``fit``."""
    distinct = len(scores.values)
    if rows > 2 and distinct < 0.5 * rows:
        warnings.warn(
            f"{rows} rows have only {distinct} distinct scores: more than half are tied, so the "
            f"recalibrated forecasts have atoms and no honest density.",
            CalibrationWarning,
            stacklevel=3,
        )
    if rows > 1 and scores.total <= 1.0 + 1e-9:
        warnings.warn(
            f"sample_weight sums to {scores.total:.4g} over {rows} rows. A weight of k counts as "
            f"k rows, so these are worth one row: scale them to sum to {rows}.",
            CalibrationWarning,
            stacklevel=3,
        )
