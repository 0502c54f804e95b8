"""
Widths of intervals
===================

Both forecasts are calibrated. The one that knows x has narrower intervals on average, and so a
lower CRPS.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
x = rng.uniform(0, 2, 2000)
y = rng.normal(0.0, 0.2 + x)
forecasts = {}
for name, F in {
    "one width": tl.Point(np.zeros(2000)),
    "width by x": tl.Normal(np.zeros(2000), 0.2 + x),
}.items():
    forecasts[name] = tl.Isotonic().fit(y[:1000], F[:1000]).transform(F[1000:])
    print(f"{name}: CRPS {tl.crps(y[1000:], forecasts[name]):.3f}")
tl.SharpnessDisplay.from_predictions(y[1000:], forecasts)
plt.show()
