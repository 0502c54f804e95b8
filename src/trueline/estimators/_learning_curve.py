"""How much smaller errors are once a model is refitted on all rows.

The errors that a map is fitted on are those of models that saw part of the rows, while forecasts
are made by one that saw all. Its errors are smaller, so intervals come out a little wide. Models
that see still fewer rows show by how much errors shrink as rows are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from trueline._validation import FloatArray

Rows = NDArray[np.intp]
Split = tuple[Rows, Rows]

# No step from most rows to all of them takes more than this off an error: a larger one is noise.
_LEAST_FACTOR = 0.8


def thinned_splits(splits: Sequence[Split], n: int) -> list[Split] | None:
    """Return the splits, each trained without the test rows of the next one too.

    None if errors at two sizes cannot be compared: unless the test rows of three or more splits
    are all n rows, each once, and the rest is what a split trains on.
    """
    tests = np.sort(np.fromiter(chain.from_iterable(test for _, test in splits), dtype=np.intp))
    whole = len(tests) == n and bool((tests == np.arange(n)).all())
    if len(splits) < 3 or not whole or any(len(a) + len(b) != n for a, b in splits):
        return None
    following = [test for _, test in splits[1:]] + [splits[0][1]]
    return [
        (np.setdiff1d(train, after), test)
        for (train, test), after in zip(splits, following, strict=True)
    ]


def refit_factor(
    error: FloatArray,
    thinned_error: FloatArray,
    sizes: tuple[float, float, float],
    sample_weight: FloatArray | None = None,
) -> float:
    """Share of an out-of-fold error that is left once the model is refitted on all rows.

    Errors fall as a power of the number of rows, over so short a way: from b to c rows by
    (error at b / error at a) ** (log(c / b) / log(b / a)).

    Parameters
    ----------
    error : (n,) array
        Absolute out-of-fold scores, by models that saw b rows. Scores rather than errors: the
        scale of a model, such as the spread of a forest, shrinks with more rows as well.
    thinned_error : (n,) array
        Those of the same rows by models that saw a rows.
    sizes : (a, b, c)
        Rows of the thinned models, of the fold models and of the refit, rising.
    sample_weight : (n,) array, optional

    Returns
    -------
    float
        Between 0.8 and 1.

    Examples
    --------
    With five folds, errors that fall as the root of the number of rows:

    >>> import numpy as np
    >>> from trueline.estimators._learning_curve import refit_factor
    >>> round(refit_factor(np.full(9, 80**-0.5), np.full(9, 60**-0.5), (60, 80, 100)), 4)
    0.8944
    """
    a, b, c = sizes
    now = float(np.average(error, weights=sample_weight))
    before = float(np.average(thinned_error, weights=sample_weight))
    if not (0.0 < now <= before and 0.0 < a < b < c):
        return 1.0
    return max(float((now / before) ** (np.log(c / b) / np.log(b / a))), _LEAST_FACTOR)
