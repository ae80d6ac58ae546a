"""A report in a frame is the whole report, apart from the page around it."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from formulations.errors import InvalidInputError
from prunemodels.report_page.framed import BASE, FramedPage

PAGE = '<!DOCTYPE html>\n<html><head><title>a &lt; b</title></head><body id="x"><a href="#x">"all" of it</a></body></html>'


class Frames(HTMLParser):
    """Elements with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))


def test_the_frame_holds_the_page() -> None:
    """A browser reads one frame, named as the page, and in it the page character by character, but for the base of its links."""
    reader = Frames()
    reader.feed(FramedPage(PAGE, height=500)._repr_html_())
    ((element, attributes),) = reader.seen
    assert element == "iframe"
    assert attributes["title"] == "a < b"
    assert "height:500px" in str(attributes["style"])
    assert attributes["srcdoc"] == PAGE.replace("<head>", f"<head>{BASE}")


def test_links_stay_in_the_frame() -> None:
    """The base of links is the frame's own page, named once, before any link."""
    assert BASE == '<base href="about:srcdoc">'
    within = FramedPage(PAGE + "<head>")._repr_html_()
    assert within.count("about:srcdoc") == 1
    assert within.index("about:srcdoc") < within.index("a &amp;lt; b")


@pytest.mark.parametrize(
    ("page", "height", "message"),
    [("report.html", 640, "begins with 'report.html', not with a page's head"), (PAGE, 0, "height is 0; give pixels above 0")],
)
def test_what_is_no_page_is_refused(page: str, height: int, message: str) -> None:
    """A file's name in place of the page, and a frame without height, are refused by value."""
    with pytest.raises(InvalidInputError, match=message):
        FramedPage(page, height)
