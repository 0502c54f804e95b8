"""
A model that is too sure of itself
==================================

A Bayesian ridge regression whose standard deviation is divided by four misses most outcomes. An
isotonic map learns from held-out rows how far off it is, and corrects new forecasts.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import train_test_split

import trueline as tl

X, y = load_diabetes(return_X_y=True)
X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, random_state=0)
X_cal, X_new, y_cal, y_new = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)

model = BayesianRidge().fit(X_train, y_train)


def forecast(X):
    mean, std = model.predict(X, return_std=True)
    return tl.Normal(mean, std / 4)


F = forecast(X_new)
G = tl.Isotonic().fit(y_cal, forecast(X_cal)).transform(F)
print(f"before: 90% intervals hold {tl.coverage(y_new, F, 0.9):.0%} of the time")
print(f"after:  90% intervals hold {tl.coverage(y_new, G, 0.9):.0%} of the time")

# %%
# The calibration plot shows expected against observed probabilities. The grey band is what chance
# allows a perfect forecast.

ax = plt.figure(figsize=(6, 5)).add_subplot()
tl.CalibrationDisplay.from_predictions(y_new, {"before": F, "after": G}, ax=ax)
plt.show()
