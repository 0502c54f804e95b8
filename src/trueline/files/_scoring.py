"""How the outcomes of a file are scored: learned from its first rows, and then fixed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from trueline._files import FileError
from trueline.distributions import Support
from trueline.files._chunks import Chunk
from trueline.recalibration import Preparation, Recalibrator, ScoreRows


@dataclass(frozen=True)
class Scoring:
    """How outcomes are scored; it is the same for all rows, however they are split.

    Attributes
    ----------
    preparation : Preparation
        What is done to forecasts first.
    support : Support or None
        The support that the user stated, which every outcome is checked against.
    """

    preparation: Preparation
    support: Support | None = None

    @classmethod
    def learned(cls, learner: Recalibrator, chunks: Sequence[Chunk]) -> Self:
        """Learn the preparation from the first chunks of all rows; there may be none."""
        scoring = cls(Preparation(), learner._stated_support())
        for chunk in chunks:
            scoring.check(chunk)
        if not any(map(Chunk.n_weighted, chunks)):
            return scoring
        y, *forecast = (
            np.concatenate(parts)
            for parts in zip(*([chunk.y, *chunk.forecast] for chunk in chunks), strict=True)
        )
        weights = [chunk.weight for chunk in chunks if chunk.weight is not None]
        w = np.concatenate(weights) if weights else None
        dist = chunks[0].layout.distribution(forecast)
        preparation = learner._unfitted_copy()._prepare(y, dist, w)
        return cls(preparation, scoring.support)

    def check(self, chunk: Chunk) -> None:
        """Raise if an outcome is impossible by the stated support."""
        if self.support is None:
            return
        bad, wanted = self.support._excluded(chunk.y)
        if chunk.weight is not None:
            bad &= chunk.weight > 0
        if bad.any():
            row = int(np.argmax(bad))
            raise FileError(
                f"{chunk.where(row)}, column {chunk.layout.y!r}: found {chunk.y[row]:g}, which "
                f"{self.support!r} excludes ({np.count_nonzero(bad):,} of the {len(chunk):,} rows "
                f"around it); expected {wanted}. Fix or drop the rows, or state another support."
            )

    def rows(self, chunk: Chunk) -> ScoreRows:
        """Return the scores of the outcomes of a chunk, with the weights of the rows."""
        self.check(chunk)
        rows = ScoreRows.of_outcomes(chunk.y, self.preparation(chunk.dist))
        bad = rows.first_invalid()
        if bad is not None:
            raise FileError(f"{chunk.where(bad)}: {rows.fault(bad)}")
        # Outcomes are counted if the preparation may exclude some.
        outcomes = None if self.preparation.atoms is None else chunk.y
        return ScoreRows(rows.kind, rows.lower, rows.upper, chunk.weight, outcomes)
