"""Figure 3 of the paper: intervals, the fitted map, and the calibration plot."""

import matplotlib.pyplot as plt
import numpy as np

import trueline as tl

rng = np.random.default_rng(2)
x = np.sort(rng.uniform(0, 6, 900))
y = np.sin(x) + rng.normal(0, 0.5, 900)
F = tl.Normal(np.sin(x), 0.2)
held, new = slice(0, None, 2), slice(1, None, 2)
R = tl.Isotonic().fit(y[held], F[held])
G = R.transform(F[new])
fig, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
some = slice(1, None, 16)
tl.IntervalDisplay.from_predictions(y[some], F[some], x=x[some], coverage=0.9, ax=axes[0])
tl.RecalibrationDisplay.from_recalibrator(R, ax=axes[1])
titles = ("forecasts before", "the fitted map R", "calibration on new rows")
for ax, title in zip(axes, titles, strict=True):
    ax.set_title(title, loc="left")
fig.suptitle("Figure 3 of the paper: how a forecast is recalibrated")
tl.CalibrationDisplay.from_predictions(y[new], {"before": F[new], "after": G}, ax=axes[2])
