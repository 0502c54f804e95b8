"""The error of training that diverges."""

from __future__ import annotations


class DivergenceError(FloatingPointError, ValueError):
    """The loss of a network became NaN or infinite; the message says what to change.

    Examples
    --------
    >>> import numpy as np
    >>> from trueline.models import DropoutRegressor
    >>> X = np.linspace(-1.0, 1.0, 40)[:, None]
    >>> DropoutRegressor(learning_rate=1e30, random_state=0).fit(X, X[:, 0])
    Traceback (most recent call last):
        ...
    trueline.models._errors.DivergenceError: the loss of network 0 is nan in epoch 1; ...
    """
