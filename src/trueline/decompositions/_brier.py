"""The Brier score of a yes-or-no forecast, split into calibration and refinement."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from trueline._validation import FloatArray, as_float, check_count, same_length, vector, weights


@dataclass(frozen=True, eq=False)
class BrierDecomposition:
    """Result of `brier_decomposition`.

    Attributes
    ----------
    brier : float
        Brier score, the mean of (p - y)^2.
    calibration : float
        Mean squared distance of the calibration curve from the diagonal.
    refinement : float
        Mean of o (1 - o), with o the observed share of the row's bin.
    within : float
        Mean variance of p within a bin, less twice its covariance with y. It may be negative.
    calibration_floor : float
        Expected `calibration` of true forecasts, by chance alone.
    sharpness : float
        Mean of var f = p (1 - p), the expected Brier score of a true forecast.
    edges : ndarray, (m + 1,)
        Ends of the bins. The first bin includes both its ends, the others their upper one.
    predicted, observed : ndarray, (m,)
        Mean forecast and observed share in each bin (the calibration curve); NaN in empty bins.
    counts : ndarray, (m,)
        Number of rows in each bin; with weights their sum.

    Examples
    --------
    >>> import trueline as tl
    >>> parts = tl.brier_decomposition([0, 0, 1, 1], [0.1, 0.4, 0.6, 0.9], bins=2)
    >>> parts.predicted, parts.observed, parts.counts
    (array([0.25, 0.75]), array([0., 1.]), array([2., 2.]))
    """

    brier: float
    calibration: float
    refinement: float
    within: float
    calibration_floor: float
    sharpness: float
    edges: FloatArray
    predicted: FloatArray
    observed: FloatArray
    counts: FloatArray


def brier_decomposition(
    y: ArrayLike,
    p: ArrayLike,
    *,
    bins: int | ArrayLike = 10,
    sample_weight: ArrayLike | None = None,
) -> BrierDecomposition:
    r"""Split the Brier score of probabilities into calibration and refinement.

    This is the evaluation of a classifier in section 2 of the paper. Forecasts are grouped into
    bins, as for a calibration curve. With :math:`W_j` the share of the rows in bin j,
    :math:`\bar p_j` their mean forecast and :math:`o_j` the share of them with y = 1,

    .. math::

        \frac{1}{T} \sum_t (p_t - y_t)^2
        = \underbrace{\sum_j W_j (\bar p_j - o_j)^2}_\text{calibration}
        + \underbrace{\sum_j W_j\, o_j (1 - o_j)}_\text{refinement}
        + \underbrace{\sum_j W_j \bigl(\operatorname{var}_j(p)
        - 2 \operatorname{cov}_j(p, y)\bigr)}_\text{within bins}

    exactly. The first two are those of Murphy (1973,
    doi:10.1175/1520-0450(1973)012<0595:ANVPOT>2.0.CO;2); the third is 0 if the forecasts of a bin
    are equal (Stephenson, Coelho and Jolliffe, 2008, doi:10.1175/2007WAF2006116.1). Lower is better
    for the first two: calibration is 0 on the diagonal, up to chance (`calibration_floor`), and
    refinement is 0 if the bins separate the classes.

    Refinement depends on outcomes. The sharpness of the paper, the mean of var f = p (1 - p),
    depends on forecasts alone and needs no bins: the Brier score is sharpness plus the mean of
    (y - p) (1 - 2 p), which is 0 on average for a true forecast.

    Parameters
    ----------
    y : (n,) array-like of 0 and 1, or booleans
        Outcomes.
    p : (n,) array-like
        Forecast probabilities of y = 1, in [0, 1].
    bins : int or (m + 1,) array-like, default 10
        Number of bins of equal width, or their ends, increasing from 0 to 1. The bins are
        [0, 0.1], (0.1, 0.2], ..., as in the paper's Figure 2.
    sample_weight : (n,) array-like, optional
        Weights of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> import trueline as tl
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=10_000)
    >>> y = rng.uniform(size=10_000) < p
    >>> true = tl.brier_decomposition(y, p)
    >>> round(true.calibration, 5), round(true.calibration_floor, 5), round(true.refinement, 3)
    (0.00016, 0.00017, 0.169)
    >>> timid = tl.brier_decomposition(y, 0.3 + 0.4 * p)
    >>> round(timid.calibration, 5), round(timid.refinement, 3)
    (0.02697, 0.174)
    """
    outcomes, forecasts = _outcomes(y), _probabilities(p)
    same_length(outcomes.size, forecasts, "p", "y")
    given = weights(sample_weight, outcomes.size)
    w = np.ones_like(outcomes) if given is None else given / given.max()
    edges = _edges(bins)
    m = edges.size - 1
    bin_of = np.searchsorted(edges[1:-1], forecasts)

    def per_bin(rows: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(bin_of, rows, m), dtype=np.float64)

    mass = per_bin(w)
    with np.errstate(invalid="ignore"):  # 0 / 0 in an empty bin
        predicted = per_bin(w * forecasts) / mass
        observed = per_bin(w * outcomes) / mass
    share = w / w.sum()
    # Values per row make a rule for empty bins unnecessary; a bin without weight has no value.
    p_row, o_row = (np.nan_to_num(values)[bin_of] for values in (predicted, observed))
    dp, dy = forecasts - p_row, outcomes - o_row
    variance = forecasts * (1.0 - forecasts)
    chance = per_bin(w**2 * variance)
    filled = mass > 0
    return BrierDecomposition(
        brier=float(share @ (forecasts - outcomes) ** 2),
        calibration=float(share @ (p_row - o_row) ** 2),
        refinement=float(share @ (o_row * (1.0 - o_row))),
        within=float(share @ (dp * (dp - 2.0 * dy))),
        calibration_floor=float((chance[filled] / mass[filled]).sum() / w.sum()),
        sharpness=float(share @ variance),
        edges=edges,
        predicted=predicted,
        observed=observed,
        counts=mass if given is None else mass * given.max(),
    )


def _outcomes(y: ArrayLike) -> FloatArray:
    """Check outcomes: 0 and 1, or booleans."""
    a = np.asarray(y)
    outcomes = vector(a.astype(np.float64) if a.dtype == np.bool_ else y, "y")
    strange = (outcomes != 0.0) & (outcomes != 1.0)
    if strange.any():
        raise ValueError(
            f"y holds {outcomes[strange][0]:g}; expected outcomes of 0 and 1, or booleans. "
            f"Turn class labels into booleans first: y == label."
        )
    return outcomes


def _probabilities(p: ArrayLike) -> FloatArray:
    """Check probabilities of y = 1."""
    a = as_float(p, "p")
    if a.ndim == 2 and a.shape[1] == 2:
        raise ValueError(
            f"p has shape {a.shape}; expected the probabilities of y = 1, shape (n,). They "
            f"are the second column of the result of predict_proba: p[:, 1]."
        )
    forecasts = vector(a, "p")
    strange = (forecasts < 0.0) | (forecasts > 1.0)
    if strange.any():
        raise ValueError(
            f"p holds {forecasts[strange][0]:g}; expected probabilities, in [0, 1]. Margins or "
            f"log odds must be turned into probabilities first."
        )
    return forecasts


def _edges(bins: int | ArrayLike) -> FloatArray:
    """Ends of the bins."""
    if np.ndim(bins) == 0:
        m = check_count(bins, "bins")  # type: ignore[arg-type]
        return np.arange(m + 1) / m
    edges = vector(bins, "bins")
    if edges.size < 2 or edges[0] != 0.0 or edges[-1] != 1.0 or not (np.diff(edges) > 0.0).all():
        raise ValueError(
            f"bins is {edges.tolist()}; expected a number of bins, or their ends, strictly "
            f"increasing from 0 to 1."
        )
    return edges.copy()
