"""Figure 4 of the paper: two calibrated forecasts, one of which is sharper."""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(0, 6, 1200))
spread = 0.1 + 0.25 * x
y = np.sin(x) + rng.normal(0, spread)
held, new = slice(0, None, 2), slice(1, None, 20)
fig, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
for ax, F, name in (
    (axes[0], tl.Point(np.sin(x)), "one width"),
    (axes[1], tl.Normal(np.sin(x), spread), "width by x"),
):
    G = tl.Isotonic().fit(y[held], F[held]).transform(F)
    tl.IntervalDisplay.from_predictions(y[new], G[new], x=x[new], coverage=0.9, name=name, ax=ax)
    ax.set_title(name, loc="left")
fig.suptitle("Figure 4 of the paper: both are calibrated, the right one is sharper")
