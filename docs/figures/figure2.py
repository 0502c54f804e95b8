"""Figure 2 of the paper: calibrated classification of two classes in the plane."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import RidgeClassifier

rng = np.random.default_rng(0)
labels = rng.integers(0, 2, 3000)
points = rng.normal(size=(3000, 2)) + np.outer(labels, [1.6, 0.3])
margin = RidgeClassifier().fit(points[:1000], labels[:1000]).decision_function(points)
naive = 1 / (1 + np.exp(-margin))  # takes the margin for the log odds
learned = IsotonicRegression(out_of_bounds="clip").fit(margin[1000:2000], labels[1000:2000])

fig, (left, middle, right) = plt.subplots(1, 3, figsize=(10, 3.3), layout="constrained")
for label, colour in ((0, "#0a559c"), (1, "#c15a00")):
    shown = points[2000:2300][labels[2000:2300] == label]
    left.plot(*shown.T, ".", color=colour, alpha=0.6)
left.set(title="two classes", xlabel="feature 1", ylabel="feature 2")
grid = np.linspace(-1.5, 1.5, 200)
middle.plot(grid, 1 / (1 + np.exp(-grid)), color="#c15a00", ls="--", label="before")
middle.plot(grid, learned.predict(grid), color="#0a559c", label="isotonic")
middle.set(title="probability by margin", xlabel="margin", ylabel="probability of class 1")
middle.legend(frameon=False)
bins = np.linspace(0, 1, 11)
for p, style, colour, name in (
    (naive[2000:], "o--", "#c15a00", "before"),
    (learned.predict(margin[2000:]), "s-", "#0a559c", "isotonic"),
):
    which = np.digitize(p, bins[1:-1])
    used = [k for k in range(10) if (which == k).sum() >= 10]
    x = [p[which == k].mean() for k in used]
    right.plot(x, [labels[2000:][which == k].mean() for k in used], style, color=colour, label=name)
right.plot([0, 1], [0, 1], color="grey", lw=1)
right.set(title="calibration", xlabel="forecast probability", ylabel="observed frequency")
right.legend(frameon=False)
fig.suptitle("Figure 2 of the paper: calibrated classification")
