"""
New rows of another mix
=======================

New rows have larger features, where errors are larger. The fitted model is calibrated for their mix
by their features alone, and its intervals hold again.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression

import trueline as tl

rng = np.random.default_rng(4)
X, X_new = rng.normal(size=(2000, 1)), rng.normal(1.0, 1.0, size=(2000, 1))
y, y_new = (x[:, 0] + rng.normal(0.0, np.exp(0.7 * x[:, 0])) for x in (X, X_new))
model = tl.CalibratedRegressor(LinearRegression(), scale_estimator=None, random_state=0)
model.fit(X, y)
adapted = model.adapt(X_new)

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
grid = np.linspace(-3.0, 4.0, 50)
bins = np.linspace(-3.5, 4.5, 33)
left.hist([X[:, 0], X_new[:, 0]], bins, label=["calibration rows", "new rows"])
left.set(xlabel="feature", ylabel="rows", ylim=(0, 320))
left.legend(loc="upper left")
weight = left.twinx()
weight.plot(grid, adapted.shift_.of(grid[:, None]), color="black")
weight.set(ylabel="weight of a calibration row (line)", ylim=0)
levels = np.arange(0.1, 1.0, 0.1)
for name, each in {"as it is": model, "adapted": adapted}.items():
    F = each.predict_dist(X_new)
    right.plot(levels, [tl.coverage(y_new, F, c) for c in levels], "o-", label=name)
right.plot([0, 1], [0, 1], color="grey")
right.set(xlabel="coverage of the intervals", ylabel="share of new rows that they hold")
right.legend()
plt.show()
