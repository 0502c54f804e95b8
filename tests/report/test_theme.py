"""Text can be read and marks be seen, light and dark."""

import numpy as np
import pytest

from trueline._report._style import COLOURS, GROUNDS, MARKS, TEXT, stylesheet


def luminance(colour):
    """Relative luminance, WCAG 2.2."""
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


def contrast(a, b):
    """Contrast ratio, WCAG 2.2."""
    low, high = sorted([luminance(a), luminance(b)])
    return (high + 0.05) / (low + 0.05)


def test_contrast_is_that_of_the_standard():
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", GROUNDS)
def test_text_has_a_contrast_of_four_and_a_half(theme, ground):
    for name in TEXT:
        assert contrast(COLOURS[name][theme], COLOURS[ground][theme]) >= 4.5, name


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", GROUNDS)
def test_marks_have_a_contrast_of_three(theme, ground):
    for name in MARKS:
        assert contrast(COLOURS[name][theme], COLOURS[ground][theme]) >= 3.0, name


def test_the_button_and_the_system_give_the_same_dark():
    dark = "".join(f"--{name}:{pair[1]};" for name, pair in COLOURS.items())
    assert stylesheet().count(dark) == 2
