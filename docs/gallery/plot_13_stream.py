"""
A stream that changes
=====================

The noise triples halfway. A fixed map misses from then on, and Online follows within some dozen
rows.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
y = rng.normal(size=1000) * np.repeat([1.0, 3.0], 500)
F = tl.Normal(np.zeros(1000), 1.0)
online = tl.Online().fit(y[:200], F[:200])
ends = []
for t in range(200, 1000):
    ends.append(np.ravel(online.transform(F[[t]]).interval(0.9)))
    online.update(y[t], F[[t]])
fig, ax = plt.subplots(figsize=(8, 4))
ax.plot(range(200, 1000), y[200:], ".", color="grey", ms=3)
ax.plot(range(200, 1000), ends, color="#0a559c")
ax.set(xlabel="row", ylabel="outcome and 90% interval")
plt.show()
