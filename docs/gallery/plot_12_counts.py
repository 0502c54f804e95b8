"""
Counts
======

Forecasts of counts are learned from the outcomes: every value has a probability, and quantiles
are whole numbers.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
y = rng.poisson(2.0, size=2000)
G = tl.Isotonic().fit(y, tl.Normal(np.full(2000, 2.0), 1.0)).transform(tl.Normal([2.0], 1.0))
values = np.arange(9)
fig, ax = plt.subplots()
ax.bar(values - 0.2, G.pmf(values[None])[0], 0.4, label="forecast")
ax.bar(values + 0.2, [(y == value).mean() for value in values], 0.4, label="outcomes")
ax.set(xlabel="count", ylabel="probability")
ax.legend()
plt.show()
