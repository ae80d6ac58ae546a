"""What every page must be, whatever it is about: `check_page`."""

from __future__ import annotations

import re
from itertools import pairwise

from tests.prunemodels.report_page.cases import Page


def check_markup(text: str) -> None:
    """Every element is closed in order, no attribute and no id is there twice, every reference leads somewhere."""
    page = Page(text)
    assert not page.problems
    ids = [a["id"] for _, a, _ in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes, _ in page.elements:
        assert set((attributes.get("aria-labelledby") or "").split()) <= set(ids)
        if (attributes.get("href") or "").startswith("#"):
            assert attributes["href"][1:] in ids
    used = {c for _, a, _ in page.elements for c in (a.get("class") or "").split()}
    sheet = page.text("style")
    assert all(f".{c}" in sheet for c in used - {"wide-table"})


def check_alone(text: str) -> None:
    """No script, no link to another file or host, no import in the style sheet, no place on this machine."""
    page = Page(text)
    assert not {"script", "link", "iframe", "img", "object", "base", "form"} & {name for name, _, _ in page.elements}
    for _, attributes, _ in page.elements:
        assert not {"src", "xlink:href", "style", "onload", "onclick"} & set(attributes)
        assert (attributes.get("href") or "#").startswith("#")
    assert not re.search(r"https?:|url\((?!#)|@import", text)
    assert not re.search(r"/(tmp|home|root|work|usr)/", text)


def check_readable(text: str, *, tables: int, pictures: int) -> None:
    """Language, title, landmarks, headings in order, tables with captions and scopes, pictures with name and description."""
    page = Page(text)
    assert page.all("html")[0]["lang"] == "en"
    assert page.text("title").strip()
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(page.all(landmark)) == 1, landmark
    assert page.all("nav")[0]["aria-label"]
    levels = [int(name[1]) for name, _, _ in page.elements if re.fullmatch("h[1-6]", name)]
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    assert len(page.all("table")) == len(page.all("caption")) >= tables
    assert all(a.get("scope") in ("row", "col") for a in page.all("th"))
    assert all(a.get("tabindex") == "0" and a.get("aria-labelledby") for a in page.all("div") if a.get("role") == "region")
    assert page.elements[[n for n, _, _ in page.elements].index("body") + 1][1]["href"] == "#content"
    for attributes in (a for name, a, above in page.elements if name == "svg" and "svg" not in above):
        assert attributes.get("aria-hidden") == "true" or (attributes["role"] == "img" and attributes["aria-labelledby"])
    described = [data for name, data in page.texts if name == "desc"]
    assert len(described) == pictures
    assert all(len(told) > 30 for told in described)


def check_page(text: str, *, tables: int, pictures: int) -> None:
    """Sound markup, nothing from elsewhere, and to be read without seeing it."""
    check_markup(text)
    check_alone(text)
    check_readable(text, tables=tables, pictures=pictures)
