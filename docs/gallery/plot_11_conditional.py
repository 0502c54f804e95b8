"""
A correction that depends on the features
=========================================

Errors are five times as large on one side. Conditional learns this from the features, and its
intervals hold on both sides.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
x = rng.uniform(size=1500)
y = rng.normal(size=1500) * np.where(x < 0.5, 1.0, 5.0)
F = tl.Point(np.zeros(1500))
R = tl.Conditional(random_state=0).fit(y[:1440], F[:1440], X=x[:1440, None])
G = R.transform(F[1440:], X=x[1440:, None])
tl.IntervalDisplay.from_predictions(y[1440:], G, x=x[1440:], coverage=0.9)
plt.show()
