"""
Forecasts that are thirty times too narrow
==========================================

Most outcomes are so many standard deviations away that probabilities round to 0 or 1. Scores do
not saturate, so recalibrated intervals are finite and hold.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
y = rng.normal(size=2000)
F = tl.Normal(np.zeros(2000), 1 / 30)
G = tl.Isotonic().fit(y[:1000], F[:1000]).transform(F[1000:])
print(f"PIT values that are exactly 0 or 1: {np.isin(F.cdf(y), [0, 1]).mean():.0%}")
tl.CalibrationDisplay.from_predictions(y[1000:], {"before": F[1000:], "after": G})
plt.show()
