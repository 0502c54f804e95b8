"""
Errors that grow with the forecast
==================================

IDR learns a law of the outcome for each value of a point forecast. Intervals are wider and more
skewed where the forecast is larger, and nothing was chosen for that.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
point = rng.uniform(1.0, 5.0, size=3060)
y, F = point * rng.gamma(4.0, 0.25, size=3060), tl.Point(point)
G = tl.IDR(smooth=True).fit(y[:3000], F[:3000]).transform(F[3000:])
tl.IntervalDisplay.from_predictions(y[3000:], G, x=point[3000:], coverage=0.9)
plt.show()
