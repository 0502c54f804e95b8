"""
One map per group
=================

One map for all rows is too wide for calm stores and too narrow for wild ones. Grouped gives
each its own width.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
store = rng.choice(["calm", "wild"], 3000)
y = rng.normal(size=3000) * np.where(store == "wild", 4.0, 1.0)
F = tl.Normal(np.zeros(3000), 1.0)
one = tl.Isotonic().fit(y[:1500], F[:1500]).transform(F[1500:])
own = (
    tl.Grouped()
    .fit(y[:1500], F[:1500], groups=store[:1500])
    .transform(F[1500:], groups=store[1500:])
)
fig, ax = plt.subplots()
for k, (name, G) in enumerate({"one map": one, "one per group": own}.items()):
    held = [
        tl.coverage(y[1500:][rows], G[rows], 0.9)
        for rows in (store[1500:] == "calm", store[1500:] == "wild")
    ]
    ax.bar(np.arange(2) + 0.35 * k, held, 0.3, label=name)
ax.axhline(0.9, color="grey")
ax.set_xticks([0.17, 1.17], labels=["calm", "wild"])
ax.set(ylabel="90% intervals hold", ylim=(0, 1.2))
ax.legend(ncols=2)
plt.show()
