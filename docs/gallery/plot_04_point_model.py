"""
Intervals for a model without uncertainty
=========================================

A point forecast gets the spread that its errors had on held-out rows (section 3.4 of the
paper). All intervals then have the same width.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 6, 600))
y = np.sin(x) + rng.normal(0, 0.3, 600)
F = tl.Point(np.sin(x))
G = tl.Isotonic().fit(y[::2], F[::2]).transform(F[1::12])
tl.IntervalDisplay.from_predictions(y[1::12], G, x=x[1::12], coverage=0.9)
plt.show()
