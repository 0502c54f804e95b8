"""
Where outcomes fall in their forecasts
======================================

The PIT histogram is flat for a true forecast. It is high at both ends if forecasts are too
narrow, as here.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
y = rng.normal(size=2000)
tl.PITDisplay.from_predictions(y, tl.Normal(np.zeros(2000), 0.6), name="too narrow")
plt.show()
