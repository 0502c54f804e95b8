"""The best of several maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueline.distributions import Support
from trueline.laws import ScoreLaw
from trueline.recalibration._common import CommonMap, Isotonic, is_common_map
from trueline.recalibration._shown import constructor_call
from trueline.recalibration._smooth import BetaCalibration, Scaling, Smooth
from trueline.scores import Exact, Scores


class Auto(CommonMap):
    """The candidate with the lowest held-out CRPS, fitted on all rows.

    The CRPS is that of the scores, cross-validated, in the unit of the score; ties go to the
    earlier candidate. Folds are drawn over the sorted scores with a fixed seed, so that the
    choice does not depend on the order of rows and `merge` chooses as a fit on all rows would.

    Parameters
    ----------
    candidates : sequence of recalibrators, optional
        By default `Scaling`, `BetaCalibration`, `Smooth` and `Isotonic`, from few parameters to
        many.
    cv : int, default 5
        Number of folds.
    random_state : int, default 0
        Seed of the folds.
    support : "auto", "counts", Support or None, default "auto"
        The values that outcomes can take, see `Isotonic`; that of a candidate is not used.

    Attributes
    ----------
    best_ : Recalibrator
        The chosen candidate.
    crps_ : dict
        Held-out CRPS by candidate.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> y = np.random.default_rng(0).normal(size=300)
    >>> R = tl.Auto().fit(y, tl.Normal(np.zeros(300), 0.2))
    >>> R.best_
    Scaling()
    """

    def __init__(
        self,
        candidates: Sequence[CommonMap] | None = None,
        cv: int = 5,
        random_state: int = 0,
        support: Support | str | None = "auto",
    ) -> None:
        self.candidates = candidates
        self.cv = cv
        self.random_state = random_state
        self.support = support

    def _check_params(self) -> None:
        super()._check_params()
        if not isinstance(self.cv, int | np.integer) or isinstance(self.cv, bool) or self.cv < 2:
            raise ValueError(f"cv is {self.cv!r}; expected an integer of 2 or more.")
        seed = self.random_state
        if not isinstance(seed, int | np.integer) or isinstance(seed, bool) or seed < 0:
            raise ValueError(f"random_state is {seed!r}; expected an integer of 0 or more.")
        if self.candidates is not None and not isinstance(self.candidates, list | tuple):
            raise ValueError(
                f"candidates is {self.candidates!r}; expected a list of recalibrators."
            )
        given = self._candidates()
        if not given or not all(is_common_map(c) and type(c) is not Auto for c in given):
            raise ValueError(
                f"candidates is {self.candidates!r}; expected Isotonic, Smooth, BetaCalibration "
                f"or Scaling objects, at least one."
            )
        for candidate in given:
            candidate._check_params()

    def _candidates(self) -> list[CommonMap]:
        if self.candidates is None:
            return [Scaling(), BetaCalibration(), Smooth(), Isotonic()]
        return list(self.candidates)

    @property
    def best_(self) -> CommonMap:
        """The chosen candidate."""
        return self._choice()[0]

    @property
    def crps_(self) -> dict[str, float]:
        """Held-out CRPS by candidate, in the unit of the score."""
        return self._choice()[1]

    def _choice(self) -> tuple[CommonMap, dict[str, float]]:
        _ = self.law_
        return self._chosen

    _chosen: tuple[CommonMap, dict[str, float]]

    def _law_of(self, scores: Scores) -> ScoreLaw:
        candidates = self._candidates()
        loss = [self._held_out(c, scores) for c in candidates]
        best = candidates[int(np.argmin(loss))]
        table = {constructor_call(c): value for c, value in zip(candidates, loss, strict=True)}
        self._chosen = best, table
        return best._law_of(scores)

    def _held_out(self, candidate: CommonMap, scores: Scores) -> float:
        x, w = scores.points()
        folds = min(int(self.cv), len(x))
        if folds < 2:
            return 0.0
        # Folds of equal size in random order, so that each is a random sample of the scores.
        fold = np.random.default_rng(self.random_state).permutation(len(x)) % folds
        total = 0.0
        for k in range(folds):
            held = fold == k
            squares = scores.unit * float(w[~held].sum())  # so that its unit is the same
            law = candidate._law_of(Exact(scores.kind, x[~held], w[~held], squares=squares))
            total += float(w[held] @ law.crps(x[held]))
        return total / float(w.sum())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, without those of the candidates."""
        return super().get_params(deep=False)
