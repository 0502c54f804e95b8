"""Memory grows as the rows, not as calibration rows times new rows."""

import subprocess
import sys

CODE = """
import resource
import numpy as np
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression
from trueline.estimators import CalibratedRegressor

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

rng = np.random.default_rng(0)
X = rng.normal(size=(400_000, 3))
y = X[:, 0] + rng.normal(size=400_000)
before = peak()
base = {base}
model = CalibratedRegressor(base, scale_estimator=None, random_state=0, cv={cv})
model.fit(X[:200_000], y[:200_000]).predict_interval(X[200_000:])
print(peak() - before)
"""


def grown(base: str, cv: int = 5) -> float:
    """Growth of a fresh process, in MB."""
    code = CODE.format(base=base, cv=cv)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def test_a_linear_model_on_200_000_and_200_000_rows():
    assert grown("LinearRegression()") < 200


def test_a_forest_on_200_000_and_200_000_rows():
    # The predictions of 40 trees would be 64 MB, those of all pairs of rows 320 GB.
    assert grown("RandomForestRegressor(10, max_depth=4, random_state=0)", cv=2) < 300
