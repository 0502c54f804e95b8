"""
How many rows to calibrate on
=============================

More calibration rows bring the CRPS closer to that of the true forecast. With few rows, a map
of two parameters is better than an isotonic one.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
y_new, F_new = rng.normal(0.0, 4.0, 1000), tl.Normal(np.zeros(1000), 1.0)
sizes = [20, 50, 100, 200, 500]
fig, ax = plt.subplots()
for R in (tl.Scaling(), tl.Isotonic()):
    mean = [
        np.mean(
            [
                tl.crps(y_new, R.fit(rng.normal(0.0, 4.0, n), F_new[:n]).transform(F_new))
                for _ in range(20)
            ]
        )
        for n in sizes
    ]
    ax.plot(sizes, mean, "o-", label=type(R).__name__)
ax.set(xscale="log", xlabel="calibration rows", ylabel="CRPS")
ax.set_xticks(sizes, labels=sizes)
ax.minorticks_off()
ax.legend()
plt.show()
