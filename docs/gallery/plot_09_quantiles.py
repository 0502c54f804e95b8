"""
Quantiles of a forest
=====================

The trees of a forest give draws. Their spread leaves out noise, so intervals are too narrow
before recalibration.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

import trueline as tl

X, y = load_diabetes(return_X_y=True)
forest = RandomForestRegressor(60, random_state=0).fit(X[:180], y[:180])
F = tl.Samples(np.stack([tree.predict(X[180:]) for tree in forest.estimators_], axis=1))
G = tl.Isotonic().fit(y[180:310], F[:130]).transform(F[130:])
tl.CalibrationDisplay.from_predictions(y[310:], {"before": F[130:], "after": G})
plt.show()
