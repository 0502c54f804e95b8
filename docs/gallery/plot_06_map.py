"""
The fitted map
==============

A recalibrator is a map from scores to probabilities. The steeper normal curve would be the map
of a forecast that was right already.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
R = tl.Isotonic().fit(rng.normal(1.0, 2.0, 500), tl.Normal(np.zeros(500), 1.0))
tl.RecalibrationDisplay.from_recalibrator(R)
plt.show()
