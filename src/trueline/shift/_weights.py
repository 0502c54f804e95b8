"""Weights that give calibration rows the mix of new rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from trueline._messages import InputError, count, percent
from trueline._validation import FloatArray, RandomState, generator
from trueline.features import FeatureReader
from trueline.shift._classifier import Classifier, choose_classifier

# With fewer rows on a side a shift cannot be told from chance.
_FEWEST_ROWS = 20
# Weights are refused if they are worth fewer rows, or if a larger share of new rows lies outside.
_LEAST_EFFECTIVE = 10.0
_MOST_OUTSIDE = 0.25
# Overlap is thin below this number of effective rows, and above this share.
_ENOUGH_EFFECTIVE = 100.0
_FEW_OUTSIDE = 0.02


@dataclass(frozen=True, eq=False, repr=False)
class ShiftWeights:
    """Weights that give calibration rows the mix of new rows, made by `shift_weights`.

    Attributes
    ----------
    weights : (n,) array
        The weight of each calibration row: how many times as frequent such rows are among the new
        ones. Their mean is 1. Pass them as ``sample_weight=`` to ``fit``.
    new_weights : (m,) array
        The weights of the new rows, on the same scale. Both are estimated without the row itself.
    effective_rows : float
        The number of calibration rows that the weights leave, (sum w)^2 / sum w^2.
    outside : float
        The share of new rows whose weight is above that of every calibration row: rows such as
        these did not calibrate.
    auc : float
        The probability that the classifier finds a new row newer than a calibration row, for rows
        that it was not fitted on; 0.5 means that it cannot tell them apart.
    classifier : {"constant", "logistic", "boosting"}
        What tells the rows apart; "constant" means that no shift was found, and all weights are 1.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> X, X_new = rng.normal(size=(1000, 2)), rng.normal([1.0, 0.0], size=(500, 2))
    >>> shift = tl.shift_weights(X, X_new, random_state=0)
    >>> shift.of([[-1.0, 0.0], [2.0, 0.0]]).round(1)
    array([0.2, 4.5])
    """

    weights: FloatArray
    new_weights: FloatArray
    effective_rows: float
    outside: float
    auc: float
    classifier: str
    _classifier: Classifier = field(repr=False)
    _factor: float
    _reader: FeatureReader

    @property
    def is_shift(self) -> bool:
        """Whether a shift was found; otherwise all weights are 1."""
        return self.classifier != "constant"

    def of(self, X: Any) -> FloatArray:
        """Return the weights of any rows, on the scale of `weights`, (n,).

        Parameters
        ----------
        X : (n, d) array-like or frame
            Features, with the columns of the calibration rows.
        """
        return self._factor * np.exp(self._classifier.log_odds(self._reader.transform(X)))

    @property
    def overlap(self) -> str:
        """How well calibration rows cover the new rows: "full", "good" or "thin"."""
        if not self.is_shift:
            return "full"
        enough = self.effective_rows >= min(_ENOUGH_EFFECTIVE, 0.5 * len(self.weights))
        return "good" if enough and self.outside <= _FEW_OUTSIDE else "thin"

    def __repr__(self) -> str:
        """Return what was found in words."""
        n, m = len(self.weights), len(self.new_weights)
        rows = f"ShiftWeights: {count(n, 'calibration row')} and {count(m, 'new row')}"
        if not self.is_shift:
            return f"{rows}\n  no shift was found: all weights are 1"
        return (
            f"{rows}\n"
            f"  shift:    the {self.classifier} classifier tells them apart with an AUC of "
            f"{self.auc:.2f}\n"
            f"  weights:  {self.weights.min():.2g} to {self.weights.max():.2g}, worth "
            f"{self.effective_rows:,.0f} effective rows\n"
            f"  overlap:  {self.overlap}; {percent(round(self.outside, 3))} of the new rows lie "
            f"outside the calibration rows"
        )


def shift_weights(
    X_calibration: Any, X_new: Any, *, random_state: RandomState = None
) -> ShiftWeights:
    """Estimate weights that give calibration rows the mix of new rows.

    Intervals that were calibrated on one mix of rows need not hold on another, even if the outcome
    depends on the features as before (covariate shift). They do if each calibration row weighs as
    many times as rows with its features are more frequent among the new ones (Tibshirani et al.,
    2019). This ratio of densities is read off a classifier that tells new rows from calibration
    rows. It is a constant, a logistic regression or boosted trees: the simplest that no other beats
    by more than a standard error of the cross-fitted log loss. Its log odds are shrunk until they
    are true on rows that it was not fitted on. Without a shift all weights are 1 or nearly so.

    Weights cannot correct a change of how the outcome depends on the features.

    Parameters
    ----------
    X_calibration : (n, d) array-like or frame
        Features of the rows that calibrate, at least 20. Missing values, text, categories and
        dates are read by a `trueline.features.FeatureReader`.
    X_new : (m, d) array-like or frame
        Features of at least 20 new rows, whose outcomes need not be known.
    random_state : None, int or numpy.random.Generator
        Draws the folds.

    Returns
    -------
    ShiftWeights
        With ``weights`` for ``sample_weight=``, and ``of(X)`` for the weights of other rows.

    Raises
    ------
    ValueError
        If overlap is too poor: the weights are worth fewer than 10 rows, or more than a quarter of
        the new rows lies outside the calibration rows.

    References
    ----------
    Tibshirani, Foygel Barber, Candès and Ramdas, "Conformal prediction under covariate shift",
    NeurIPS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(2)
    >>> x, x_new = rng.normal(0.0, 1.0, 2000), rng.normal(0.8, 1.0, 2000)
    >>> y, y_new = (rng.normal(0.0, np.exp(0.5 * v)) for v in (x, x_new))
    >>> shift = tl.shift_weights(x[:, None], x_new[:, None], random_state=0)
    >>> F = tl.Point(np.zeros(2000))
    >>> for weight in (None, shift.weights):
    ...     G = tl.Isotonic().fit(y, F, sample_weight=weight).transform(F)
    ...     print(f"{tl.coverage(y_new, G, 0.9):.2f}")
    0.78
    0.90
    """
    reader = FeatureReader().fit(X_calibration)
    old, new = reader.transform(X_calibration), reader.transform(X_new)
    for name, side in {"X_calibration": old, "X_new": new}.items():
        if len(side) < _FEWEST_ROWS:
            raise ValueError(
                f"{name} has {count(len(side), 'row')}; expected at least {_FEWEST_ROWS}, because "
                f"a shift cannot be told from chance on fewer. Gather more rows, or go without "
                f"weights."
            )
    is_new = np.arange(len(old) + len(new)) >= len(old)
    is_category = np.isin(np.arange(reader.n_features_in_), reader.categorical_)
    classifier, log_odds = choose_classifier(
        np.concatenate([old, new]), is_category, is_new, generator(random_state)
    )
    ratio = np.exp(log_odds)
    factor = 1.0 / float(ratio[~is_new].mean())
    weights, new_weights = factor * ratio[~is_new], factor * ratio[is_new]
    found = ShiftWeights(
        weights,
        new_weights,
        effective_rows=float(weights.sum() ** 2 / (weights @ weights)),
        outside=float((new_weights > weights.max()).mean()),
        auc=float(roc_auc_score(is_new, log_odds)),
        classifier=classifier.name,
        _classifier=classifier,
        _factor=factor,
        _reader=reader,
    )
    _check_overlap(found)
    return found


def _check_overlap(found: ShiftWeights) -> None:
    """Raise if the weights would let a few calibration rows stand for all new ones."""
    if found.effective_rows >= _LEAST_EFFECTIVE and found.outside <= _MOST_OUTSIDE:
        return
    raise InputError(
        f"the new rows are too unlike the {count(len(found.weights), 'calibration row')} for "
        f"weights: these would be worth {found.effective_rows:.1f} rows, and "
        f"{percent(round(found.outside, 3))} of the new rows lie outside the calibration rows; "
        f"expected at least {_LEAST_EFFECTIVE:.0f} rows, and at most {percent(_MOST_OUTSIDE)} "
        f"outside. Calibrate on rows that cover the new ones, or leave out columns that give a new "
        f"row away without a bearing on the outcome, such as dates and identifiers."
    )
