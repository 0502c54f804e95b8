"""Text of the user is text on the page, whatever it holds."""

import re

import pytest
from hypothesis import given, settings, strategies as st

from tests.report.conftest import HOSTILE, write_named
from tests.report.parsing import parse, skeleton
from trueline._report._markup import Markup, clean, join, tag

NAMES = [
    HOSTILE,
    "</script><script>alert(1)</script>",
    "</title></svg></style><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x="',
    "' onfocus='alert(1)' autofocus='",
    "<!-- --> &lt;b&gt; &amp; ]]>",
    "a\u2028b\u2029c\x00d\x0be\ud800f\u202eg",
    "line\nbreak\ttab",
    "{{7*7}} ${7*7} %s {0}",
]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    path = write_named(tmp_path_factory.mktemp("plain") / "report.html", "name")
    return parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_a_name_changes_text_and_nothing_else(tmp_path, plain, name):
    path = write_named(tmp_path / "report.html", name)
    text = path.read_bytes().decode("utf-8")
    page = parse(text)
    assert skeleton(page) == skeleton(plain)
    shown = clean(name)
    assert page.find("h1")[0].text == shown
    assert page.find("title")[0].text == shown
    assert shown in [t.text for t in page.find("th", "named")]  # a forecast
    titles = [
        t.children[0] for t in page.find("th", "title") if "named" not in t.attributes["class"]
    ]
    assert shown in titles  # a group
    assert any(t.startswith(f"{shown}: ") for t in titles)  # a column
    assert not re.search("[\x00-\x08\u2028\u2029\ud800-\udfff]", text)
    # The script holds nothing of the user: it is the same in every report.
    assert page.find("script")[0].text == plain.find("script")[0].text


@given(st.text(), st.text())
def test_what_is_put_into_an_element_comes_out_of_it(content, value):
    shown, kept = clean(content), clean(value)
    (element,) = parse(tag("p", shown, title=kept)).find("p")
    assert element.text == shown
    assert element.attributes == {"title": kept}


@given(st.lists(st.text()))
@settings(max_examples=30)
def test_joined_parts_are_escaped_once(parts):
    parts = [clean(part) for part in parts]
    assert parse(join([tag("b", join(parts))])).text == "".join(parts)


def test_markup_is_not_escaped_again():
    assert tag("p", tag("b", "1 < 2"), "&") == "<p><b>1 &lt; 2</b>&amp;</p>"
    assert join([Markup("<i>"), "<i>"], "<") == "<i>&lt;&lt;i&gt;"
