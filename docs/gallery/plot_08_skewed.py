"""
Outcomes that are skewed
========================

Errors of a symmetric forecast are lopsided. An isotonic map learns any shape, and scaling alone
cannot.
"""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(0)
y = rng.exponential(size=4000)
F = tl.Normal(np.ones(4000), 1.0)
after = {
    R.__class__.__name__: R.fit(y[:2000], F[:2000]).transform(F[2000:])
    for R in (tl.Scaling(), tl.Isotonic())
}
tl.CalibrationDisplay.from_predictions(y[2000:], after)
plt.show()
