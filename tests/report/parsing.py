"""A page as elements: enough of a parser to ask what is where."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    children: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(c if isinstance(c, str) else c.text for c in self.children)

    def find(self, tag: str | None = None, class_: str | None = None) -> list[Element]:
        """Every element below with this tag and class, in the order of the page."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                classes = (child.attributes.get("class") or "").split()
                if (tag is None or child.tag == tag) and (class_ is None or class_ in classes):
                    found.append(child)
                found += child.find(tag, class_)
        return found


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs), f"repeated attribute: {attrs}"
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")


def parse(html: str) -> Element:
    """Return the page; elements that are not closed in order are an error."""
    parser = _Parser()
    parser.feed(html)
    parser.close()
    assert parser.open == [parser.root], "an element is left open"
    return parser.root


def skeleton(element: Element) -> list[str]:
    """Tags and names of attributes, without any text: what a user's text must not change."""
    below = [part for c in element.children if isinstance(c, Element) for part in skeleton(c)]
    return [f"{element.tag} {sorted(element.attributes)}", *below]
