"""
Is it true given x?
===================

Intervals of one width hold 90% of the time on average. The picture shows where they do not: the
regions come from one half of the rows, and the other half judges them.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
n = 6000
age, region = rng.integers(18, 90, n), rng.choice(["north", "south", "west"], n)
y = rng.normal(size=n) * np.where((age > 60) & (region == "north"), 3.0, 1.0)
F = tl.Point(np.zeros(n))
G = tl.Isotonic().fit(y[:3000], F[:3000]).transform(F[3000:])
X = {"age": age[3000:], "region": region[3000:]}
display = tl.RegionDisplay.from_predictions(y[3000:], G, X)
print(display.result)
plt.show()
