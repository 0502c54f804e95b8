"""The interface of all recalibrators."""

from __future__ import annotations

import inspect
import json
import os
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, overload

import numpy as np
from numpy.typing import ArrayLike

from trueline._files import whole_file, write_text
from trueline._validation import NotFittedError
from trueline.distributions import Distribution, Support
from trueline.documents import encode, with_checksum
from trueline.interop import ForecastLike, check_forecast
from trueline.laws import ScoreLaw
from trueline.recalibration._preparation import Preparation
from trueline.recalibration._shown import Shown
from trueline.scores import KINDS, Key, Scores

FORMAT = "trueline-recalibrator"
VERSION = 1


class Recalibrator(Shown):
    """A map R from scores to probabilities, such that R(score(y)) is calibrated.

    ``fit`` learns from outcomes and forecasts that the model was not trained on, ``transform``
    recalibrates new forecasts. Parameters follow the conventions of scikit-learn
    (``get_params``, ``set_params``, ``clone``); learned attributes end in an underscore.

    Attributes
    ----------
    needs_groups, needs_features : bool
        Whether ``fit`` and ``transform`` need ``groups=`` or ``X=``.
    reads_width : bool
        Whether recalibrated forecasts are wider where the forecasts are.
    weighs_new_rows : bool
        Whether ``transform`` takes the weights of new rows, ``sample_weight=``.
    learns_from_scores : bool
        Whether the map is a function of the scores, their weights and groups, in any order, so
        that ``fit_scores`` can learn it.
    is_mergeable : bool
        Whether ``merge`` joins the maps of two sets of rows.
    is_exportable : bool
        Whether the fitted map is one law of the score, or one per group, that ``law`` and
        ``laws`` return, so that it can be written as a formula.
    is_stored : bool
        Whether ``to_json`` writes the map and `trueline.load` reads it.
    keeps_scores : bool
        Whether a recalibrated forecast has the score of its base, so that recalibrating it again
        by the same map changes nothing.

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

    needs_groups: ClassVar[bool] = False
    reads_width: ClassVar[bool] = True
    weighs_new_rows: ClassVar[bool] = False
    learns_from_scores: ClassVar[bool] = False
    is_mergeable: ClassVar[bool] = False
    is_exportable: ClassVar[bool] = False
    is_stored: ClassVar[bool] = False
    keeps_scores: ClassVar[bool] = True
    _state_fields: ClassVar[frozenset[str]] = frozenset({"scores"})  # keys of `_state()`
    _preparation: Preparation = Preparation()

    @property
    def needs_features(self) -> bool:
        """Whether ``fit`` and ``transform`` need the features ``X=`` of each row."""
        return "X" in inspect.signature(self.fit).parameters

    @property
    def scores_(self) -> Scores:
        """The sorted scores of the rows that the map was fitted on."""
        raise self._refusal("keep the scores of its rows")

    @property
    def score_kind_(self) -> str:
        """The ``score_kind`` of the forecasts that the map was fitted on."""
        return self.scores_.kind

    @property
    def groups_(self) -> list[Key] | None:
        """The groups seen at ``fit``; None if there is one map for all rows."""
        self._check_fitted()
        return None

    @property
    def best_(self) -> Recalibrator:
        """The recalibrator that was chosen: itself, except for `Auto`."""
        return self

    @property
    def has_atoms(self) -> bool:
        """Whether recalibrated forecasts may have atoms where the forecasts had none."""
        return any(law.has_atoms for law in self.laws().values())

    def law(self, group: Key | None = None) -> ScoreLaw:
        """Return the fitted law of the score, whose CDF is R.

        A `Grouped` has one law per `group`; None and groups that were not there at ``fit`` give
        the law of all rows.

        Examples
        --------
        >>> import trueline as tl
        >>> R = tl.Scaling().fit([1.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
        >>> R.law().mean, R.n_fit()
        (2.0, 2.0)
        """
        raise self._refusal("have one law of the score", "it differs from row to row")

    def laws(self) -> dict[Key | None, ScoreLaw]:
        """Return all fitted laws by group; the key None stands for the law of all rows."""
        return {group: self.law(group) for group in [*(self.groups_ or []), None]}

    def n_fit(self, group: Key | None = None) -> float:
        """Return the number of rows that ``law(group)`` was fitted on.

        With weights this is their effective number, (sum w)^2 / sum w^2, or the sum of the
        weights if that is less.
        """
        return self.scores_.effective_rows

    def rename_groups(self, names: Mapping[Key, Key]) -> Self:
        """Return the same fitted map with the new name of each group."""
        raise self._refusal("have groups")

    def _note_on_unknown_groups(self) -> str:
        """Return what a warning says about forecasts of groups that were not there at ``fit``."""
        raise self._refusal("have groups")

    def check_kind(self, dist: ForecastLike) -> Distribution:
        """Return the forecasts; raise unless their scores are of the kind of the fit."""
        forecast = check_forecast(dist)
        kind = self.score_kind_
        if forecast.score_kind != kind:
            raise ValueError(
                f"this {type(self).__name__} was fitted on '{kind}' scores "
                f"({KINDS.get(kind, 'other forecasts')}), but a {type(forecast).__name__} has "
                f"'{forecast.score_kind}' scores. Fit a map on forecasts of the same kind."
            )
        return forecast

    @abstractmethod
    def fit(
        self,
        y: ArrayLike,
        dist: ForecastLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn the map from outcomes and their forecasts.

        Parameters
        ----------
        y : (n,) array-like
            Outcomes, finite.
        dist : Distribution of n rows, or what `as_distribution` takes
            Their forecasts, by a model that was not trained on these rows.
        sample_weight : (n,) array-like, optional
            A weight of k moves the map as k rows do, but counts as one row in its guarantees; a
            weight of 0 counts as none.
        groups : (n,) array-like, optional
            Strings or numbers that name the group of each row, for maps that need groups.
        """

    def fit_scores(
        self,
        scores: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        *,
        upper: ArrayLike | None = None,
        kind: str = "standardised",
    ) -> Self:
        """Learn the map from the scores of rows, as ``fit`` does once it has scored the outcomes.

        Parameters
        ----------
        scores : (n,) array-like
            Scores of the outcomes, finite: (y - loc) / scale for location-scale forecasts,
            y - loc for point forecasts, normal scores of F(y) for others.
        sample_weight, groups : (n,) array-like, optional
            As for ``fit``.
        upper : (n,) array-like, optional
            Upper ends, if rows have intervals of scores: those just below and at an outcome that
            is an atom of its forecast. Ends may then be infinite. The weight of such a row is
            spread over its interval.
        kind : {"standardised", "residual", "normal score"}
            The ``score_kind`` of the forecasts, which decides what the map can transform.

        Examples
        --------
        >>> import trueline as tl
        >>> R = tl.Isotonic().fit_scores([1.0, 2.0, 3.0, 4.0], kind="residual")
        >>> R.transform(tl.Point(10.0)).cdf(13.0)
        array([0.6])
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not learn from scores. Call fit(y, dist)."
        )

    def partial_fit(
        self,
        y: ArrayLike,
        dist: ForecastLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows as well; the first call is ``fit``.

        The map is that of a fit on all rows so far, in any order, while there are at most 2^20
        distinct scores, per group if there are groups. Beyond, scores are rounded by a share of
        at most 2^-17 of themselves, so that the memory does not grow with the rows. If something
        is wrong with the rows, the map is unchanged.

        Parameters
        ----------
        y, dist, sample_weight, groups
            As for ``fit``; the forecasts must be of the same kind in every call.

        Examples
        --------
        >>> import trueline as tl
        >>> R = tl.Isotonic()
        >>> for y in ([1.0, 2.0], [3.0, 4.0]):
        ...     _ = R.partial_fit(y, tl.Point([0.0, 0.0]))
        >>> R.transform(tl.Point(0.0)).cdf(3.0)
        array([0.6])
        """
        raise self._refusal("learn in parts")

    @abstractmethod
    def transform(self, dist: ForecastLike, groups: ArrayLike | None = None) -> Distribution:
        """Return the recalibrated forecasts.

        Parameters
        ----------
        dist : Distribution, or what `as_distribution` takes
            Forecasts of the kind that the map was fitted on.
        groups : (n,) array-like, optional
            The group of each row, for maps that need groups.

        Warns
        -----
        CalibrationWarning
            If a group was not there at ``fit``; its rows get the map of all rows.
        """

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
        raise self._refusal("merge")

    def _fit_scaled(
        self,
        factor: float,
        y: ArrayLike,
        dist: Distribution,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        **given: Any,
    ) -> Self:
        """Learn the map as ``fit`` does, with scores multiplied by a factor."""
        if factor == 1.0:
            return self.fit(y, dist, sample_weight, groups, **given)
        outcomes = np.asarray(y, dtype=np.float64)
        moved = dist._unscore(factor * dist._score(outcomes[:, None]))[:, 0]
        return self.fit(moved, dist, sample_weight, groups, **given)

    def _prepare(
        self, y: ArrayLike, dist: Distribution, sample_weight: ArrayLike | None
    ) -> Preparation:
        """Learn how forecasts are prepared before they are scored."""
        return Preparation()

    def _prepared_by(self, preparation: Preparation) -> Self:
        """Set how forecasts are prepared before they are scored."""
        self._preparation = preparation
        return self

    def _stated_support(self) -> Support | None:
        """Return the support that a parameter states; None if there is none."""
        return None

    def _learn(self, scores: Scores, by_group: dict[Key, Scores] | None = None) -> Self:
        """Learn from sorted scores: those of all rows, and those of each group."""
        raise self._refusal("learn from scores")

    def compress(self, max_knots: int) -> Self:
        """Return a map fitted on at most `max_knots` of the scores, which must be 2 or more.

        Its ``compression_error_`` is the largest change of the empirical CDF. Each group of a
        `Grouped` keeps as many scores.

        Examples
        --------
        >>> import numpy as np
        >>> import trueline as tl
        >>> y = np.random.default_rng(0).normal(size=10_000)
        >>> R = tl.Isotonic().fit(y, tl.Point(np.zeros(10_000))).compress(1000)
        >>> len(R.scores_.values), R.compression_error_ < 1e-3
        (1000, True)
        """
        raise self._refusal("compress")

    @property
    def compression_error_(self) -> float:
        """Largest change of an empirical CDF by compression; 0 without any.

        Rounding is not in it: where ``partial_fit`` has met more than 2^20 distinct scores it
        moves each by a share of at most 2^-17 (7.6e-6) of itself, and no score past another.
        """
        self._check_fitted()
        return 0.0

    def _state(self) -> dict[str, Any]:
        """Return what was learned, as JSON types."""
        raise self._refusal("become JSON")

    def _set_state(self, state: dict[str, Any]) -> None:
        """Take what was learned from checked JSON types."""
        raise self._refusal("come from JSON")

    def _refusal(self, what: str, why: str = "") -> NotImplementedError:
        """Return the error for an optional ability that the class does not have."""
        self._check_fitted()
        return NotImplementedError(f"{type(self).__name__} does not {what}{why and ': '}{why}.")

    def _check_params(self) -> None:  # nothing to check unless there are parameters
        """Raise if a parameter is not what the class expects."""

    def _check_fitted(self) -> None:
        if not self._is_fitted():
            raise self._not_fitted()

    def _not_fitted(self) -> NotFittedError:
        return NotFittedError(f"{type(self).__name__} is not fitted: call fit(y, dist) first.")

    @overload
    def to_json(self, path: None = None) -> str: ...
    @overload
    def to_json(self, path: str | os.PathLike[str]) -> None: ...
    def to_json(self, path: str | os.PathLike[str] | None = None) -> str | None:
        """Write the fitted map as JSON, exactly; `trueline.load` reads it back.

        The text ends with its checksum, see `trueline.recalibration.sign`.

        Parameters
        ----------
        path : path, optional
            File to write, which appears whole or not at all. Without it the text is returned.

        Examples
        --------
        >>> import trueline as tl
        >>> R = tl.Scaling().fit([1.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
        >>> R.to_json()[:48]
        '{"format": "trueline-recalibrator", "version": 1'
        """
        self._check_fitted()
        # Python writes the shortest digits that read back as the same float64.
        text = json.dumps(self._document(), allow_nan=False, default=np.ndarray.tolist)
        text = with_checksum(text)
        if path is None:
            return text
        write_text(Path(path), text)
        return None

    def to_bytes(self, path: str | os.PathLike[str] | None = None) -> bytes:
        """Return the fitted map as bytes, exactly and smaller than JSON; `trueline.load` reads it.

        If `path` is given, the bytes are written to that file as well.

        Examples
        --------
        >>> import trueline as tl
        >>> R = tl.Scaling().fit([1.0, 3.0], tl.Normal([0.0, 0.0], 1.0))
        >>> tl.load(R.to_bytes()).transform(tl.Normal(0.0, 1.0)).mean()
        array([2.])
        """
        self._check_fitted()
        data = encode(self._document())
        if path is not None:
            with whole_file(Path(path)) as file:
                file.write(data)
        return data

    def _document(self) -> dict[str, Any]:
        content = {"recalibrator": self._describe(), "state": self._state()}
        return {"format": FORMAT, "version": VERSION, **content}

    def _describe(self) -> dict[str, Any]:
        """Return the class and the parameters, nested recalibrators included, as JSON types."""

        def plain(value: Any) -> Any:
            if isinstance(value, Recalibrator):
                return value._describe()
            if isinstance(value, Support):
                return {"class": "Support", "params": value.to_json()}
            if isinstance(value, list | tuple):
                return [plain(item) for item in value]
            return value.item() if isinstance(value, np.generic) else value

        params = self.get_params(deep=False)
        plain_params = {name: plain(value) for name, value in params.items()}
        return {"class": type(self).__name__, "params": plain_params}

    @classmethod
    def _param_names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and with ``deep`` those of parameters that have their own.

        Examples
        --------
        >>> import trueline as tl
        >>> tl.Isotonic().get_params()
        {'finite_sample': True, 'support': 'auto'}
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

    def _settle(self) -> None:  # nothing is left to compute unless a class is lazy
        """Compute results that depend on the parameters, before a parameter changes."""

    def _unfitted_copy(self) -> Self:
        return type(self)(**self.get_params(deep=False))

    def _check_mergeable(self, other: Recalibrator) -> None:
        if type(other) is not type(self) or other._describe() != self._describe():
            theirs = other._call() if isinstance(other, Recalibrator) else repr(other)
            raise ValueError(
                f"{self._call()} and {theirs} do not merge; expected the same class with the same "
                f"parameters."
            )
        self._check_fitted()
        other._check_fitted()
