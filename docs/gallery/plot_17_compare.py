"""
Which of several models is best?
================================

Three models forecast the same held-out rows. Their CRPS is compared row by row, and the standard
error of each difference tells a lead from chance.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsRegressor

import trueline as tl

X, y = load_diabetes(return_X_y=True)
X_train, X_new, y_train, y_new = train_test_split(X, y, test_size=0.5, random_state=0)

forecasts = {}
for name, estimator in {
    "Bayesian ridge": BayesianRidge(),
    "extra trees": ExtraTreesRegressor(100, min_samples_leaf=5, random_state=0),
    "nearest neighbour": KNeighborsRegressor(1),
}.items():
    model = tl.CalibratedRegressor(estimator, random_state=0).fit(X_train, y_train)
    forecasts[name] = model.predict_dist(X_new)

found = tl.compare(y_new, forecasts)
print(found)

# %%
# The filled blue dot is the model with the lowest CRPS. An open dot is a model whose difference
# chance explains, because its bar reaches 0, and a grey dot one that is clearly worse. All
# intervals hold, so that the CRPS says which model knows more.

tl.ComparisonDisplay(found).plot()
plt.show()
