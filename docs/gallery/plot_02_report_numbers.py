"""
Is this gap chance?
===================

A perfect forecast of 100 rows is not exactly on the diagonal. The band shows what chance
allows, so noise is not read as miscalibration.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(4)
y = rng.normal(size=100)
F = tl.Normal(np.zeros(100), 1.0)
tl.CalibrationDisplay.from_predictions(y, F, name="perfect, 100 rows")
plt.show()
