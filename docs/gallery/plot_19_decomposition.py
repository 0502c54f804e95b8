"""
Where the CRPS comes from
=========================

Miscalibration, to the right, can be repaired by recalibration. Discrimination, upwards, is what a
model knows about the outcomes. The CRPS is the same along each grey line.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
a, b, noise = rng.normal(size=(3, 3000))
y = a + b + noise
forecasts = {
    "knows both": tl.Normal(a + b, 1.0),
    "too sure": tl.Normal(a + b, 0.3),
    "knows one": tl.Normal(a, 1.4),
    "no spread": tl.Point(a + b),
}
tl.DecompositionDisplay.from_predictions(y, forecasts)
plt.show()
