"""Recalibrate an over-confident model and see what it gains: ``python -m trueline.demo``.

The mistake is a common one. A Bayesian linear regression on scikit-learn's diabetes data gives the
error bars of the regression line, how well its weights are known, and leaves out the scatter of
the patients around the line. A third of the patients trains the model, a third fits the
recalibrator, and a third, seen by neither, judges both. All numbers are means over random splits.
"""

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import train_test_split

import trueline as tl

SPLITS = 20
COVERAGE = 0.9


@dataclass(frozen=True)
class Row:
    """A line of the table: what is measured, before and after, and what would be ideal."""

    label: str
    before: float
    after: float
    ideal: str
    digits: str = ".1f"

    def __str__(self) -> str:
        before, after = (format(value, self.digits) for value in (self.before, self.after))
        return f"  {self.label:<26}{before:>10}{after:>10}   {self.ideal}"


def line_only(model: BayesianRidge, X: np.ndarray) -> tl.Normal:
    """Forecast with the uncertainty of the regression line, the noise left out."""
    mean, std = model.predict(X, return_std=True)
    return tl.Normal(mean, np.sqrt(std**2 - 1 / model.alpha_))
