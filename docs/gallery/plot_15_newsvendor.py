"""
How much to order
=================

A unit costs 1 and sells for 3, so the best order is the 67% quantile of the demand. A forecast
that is too narrow orders too little and earns less.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
demand = rng.gamma(4.0, 25.0, 4000)
F = tl.Normal(np.full(4000, 100.0), 10.0)
G = tl.Isotonic().fit(demand[:2000], F[:2000]).transform(F[2000:])
fig, ax = plt.subplots()
for k, (name, forecast) in enumerate({"before": F[2000:], "after": G}.items()):
    order = forecast.ppf(2 / 3)
    ax.bar(k, (3 * np.minimum(order, demand[2000:]) - order).mean(), label=name)
ax.set(xticks=[0, 1], xticklabels=["before", "after"], ylabel="mean profit per day")
plt.show()
