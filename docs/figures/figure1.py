"""Figure 1 of the paper on simulated data: a time series before and after recalibration."""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(1)
t = np.arange(460)
truth = 10 + 2 * np.sin(2 * np.pi * t / 40)
y = truth + rng.normal(0, 1.5, t.size)
F = tl.Normal(truth, 0.5)
G = tl.Isotonic().fit(y[:400], F[:400]).transform(F[400:])
fig, axes = plt.subplots(2, 1, figsize=(8, 5), sharex=True, sharey=True, layout="constrained")
for ax, forecast, name in ((axes[0], F[400:], "before"), (axes[1], G, "after")):
    tl.IntervalDisplay.from_predictions(
        y[400:], forecast, x=t[400:], coverage=0.9, name=name, ax=ax
    )
    ax.set_title(f"{name} recalibration", loc="left")
axes[0].set_xlabel("")
fig.suptitle("Figure 1 of the paper: intervals that miss, and intervals that hold")
