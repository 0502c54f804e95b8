"""Numbers as text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from trueline._messages import count as counted_noun

# With this number of rows a tenth of a percent is one row.
_ROWS_FOR_TENTHS = 1_000
# Numbers that need more decimals are written with a power of ten.
_MOST_DECIMALS = 8
# Smallest value, unit and suffix of the labels of an axis.
_UNITS = ((1e12, 1e12, "T"), (1e9, 1e9, "B"), (1e6, 1e6, "M"), (1e4, 1e3, "k"))


def number(value: float, digits: int = 4, *, zeros: bool = False) -> str:
    """Return a few significant digits, with thousands set apart; `zeros` keeps those at the end.

    >>> number(1234567.0), number(0.000123456), number(-2.5), number(math.inf)
    ('1,234,567', '0.0001235', '−2.5', '∞')
    >>> number(3.7, 3), number(3.7, 3, zeros=True)
    ('3.7', '3.70')
    """
    if not math.isfinite(value):
        return "none" if math.isnan(value) else _minus("-∞" if value < 0 else "∞")
    size = abs(value)
    if size >= 1e12 or 0 < size < 1e-4:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return _minus(f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}")
    whole = len(str(int(size))) if size >= 1 else 0
    # Zeros after the point are not significant: 0.00123 has three digits.
    leading = -math.floor(math.log10(size)) - 1 if 0 < size < 1 else 0
    decimals = max(digits - whole + leading, 0) if size else 0
    text = f"{value:,.{decimals}f}"
    return _minus(text if zeros or "." not in text else text.rstrip("0").rstrip("."))


def count(value: float) -> str:
    """Return a number of rows.

    >>> count(1000000)
    '1,000,000'
    """
    return f"{round(value):,}"


def counted(value: float, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "row"), counted(1200, "column")
    ('1 row', '1,200 columns')
    """
    return counted_noun(round(value), noun)


def measured(value: float, error: float) -> str:
    """Return a number with the decimals that its uncertainty supports.

    The last digit shown is the first of the error, or the second if the error begins with 1, 2 or
    3, as the Particle Data Group rounds. Numbers with the same error line up.

    >>> measured(0.0089124, 0.00083), measured(4.0664, 0.081), measured(53.4, 0.0)
    ('0.0089', '4.07', '53.4')
    >>> measured(12_345.6, 210.0), measured(0.5, 0.0013)
    ('12,346', '0.5000')
    """
    if not (math.isfinite(value) and math.isfinite(error) and error > 0):
        return number(value)
    mantissa, exponent = f"{error:.2e}".split("e")
    decimals = (float(mantissa) < 3.55) - int(exponent)
    size = max(abs(value), error)
    if size >= 1e12 or decimals > _MOST_DECIMALS:
        return number(value)
    return _minus(f"{value:,.{max(decimals, 0)}f}")


def percent(share: float, rows: float | None = None) -> str:
    """Return a share with the decimals that the number of rows supports.

    Shares of the same rows have the same decimals. Without rows the share is exact, such as a
    level, and needless zeros are left out.

    >>> percent(0.6144, 100), percent(0.9023, 5000), percent(0.61, 5000), percent(0.99996, 1e6)
    ('61%', '90.2%', '61.0%', '99.996%')
    >>> percent(0.25), percent(0.025), percent(1.0, 5000)
    ('25%', '2.5%', '100%')
    """
    if share in (0.0, 1.0):
        return f"{100 * share:.0f}%"
    decimals = 1 if rows is None or rows >= _ROWS_FOR_TENTHS else 0
    text = f"{100 * share:.{decimals}f}"
    # Only 0 and 1 are printed as 0% and 100%.
    while float(text) in (0.0, 100.0) and decimals < 6:
        decimals += 1
        text = f"{100 * share:.{decimals}f}"
    return (text.removesuffix(".0") if rows is None else text) + "%"


def probability(p: float) -> str:
    """Return a p-value.

    >>> probability(0.0312), probability(1e-26)
    ('0.031', 'below 0.0001')
    """
    return "below 0.0001" if p < 1e-4 else number(p, 2)


def span(low: str, high: str) -> str:
    """Return a range of two numbers that are already text.

    >>> span("85%", "95%")
    '85% to 95%'
    """
    return f"{low} to {high}"


def tick_labels(values: Sequence[float]) -> list[str]:
    """Return short labels of ticks, all in one unit.

    >>> tick_labels([0.0, 500_000.0, 1_000_000.0])
    ['0', '0.5M', '1.0M']
    >>> tick_labels([-0.05, 0.0, 0.05])
    ['−0.05', '0', '0.05']
    """
    largest = max(abs(value) for value in values)
    step = min((b - a for a, b in pairwise(values)), default=largest) or 1.0
    if not 1e-3 <= largest < 1e15:
        return [_scientific(value) for value in values]
    unit, suffix = next(((u, s) for least, u, s in _UNITS if largest >= least), (1.0, ""))
    decimals = max(0, -math.floor(math.log10(step / unit) + 1e-9))
    return [_minus(f"{value / unit:,.{decimals}f}{suffix}") if value else "0" for value in values]


def _scientific(value: float) -> str:
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.1e}".split("e")
    return _minus(f"{mantissa.removesuffix('.0')}e{int(exponent)}")


def _minus(text: str) -> str:
    return text.replace("-", "−", 1) if text.startswith("-") else text
