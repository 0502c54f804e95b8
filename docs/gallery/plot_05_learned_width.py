"""
A width that depends on the features
====================================

CalibratedRegressor learns from out-of-fold errors where a model errs more. Intervals are wide
only there.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

import trueline as tl

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 6, 1000))
y = np.sin(x) + rng.normal(0, 0.05 + 0.15 * x)
model = tl.CalibratedRegressor(HistGradientBoostingRegressor(max_iter=40), random_state=0)
F = model.fit(x[::2, None], y[::2]).predict_dist(x[1::16, None])
tl.IntervalDisplay.from_predictions(y[1::16], F, x=x[1::16], coverage=0.9)
plt.show()
