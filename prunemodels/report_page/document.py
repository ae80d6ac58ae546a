"""The frame of all pages: style sheet, table of contents and sections, with no reference to other files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from prunemodels.report_page.facts import Labels
from prunemodels.report_page.markup import Html, join, name, tag
from prunemodels.report_page.style import style_sheet

Section = tuple[str, str, Html]
"""Identifier, heading and content of a section."""


def document(labels: Labels, opening: Html, sections: Sequence[Section], versions: Mapping[str, str]) -> str:
    """Build a whole page.

    Parameters
    ----------
    opening
        the top of the page: title, headline, figures.
    versions
        versions of the libraries.
    """
    contents = tag("ul", *(tag("li", tag("a", heading, href=f"#{key}")) for key, heading, _ in sections))
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag("header", opening),
        tag("nav", contents, aria_label="Contents"),
        tag("main", *(_section(*section) for section in sections), id="content", tabindex="-1"),
        tag("footer", _colophon(versions)),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", labels.title),
        style_sheet(),
    )
    return "<!DOCTYPE html>\n" + tag("html", head, body, lang="en") + "\n"


def _section(key: str, heading: str, content: Html) -> Html:
    return tag("section", tag("h2", heading, id=f"{key}-heading"), content, id=key, aria_labelledby=f"{key}-heading")


def data_section(rows: Sequence[tuple[str, object]], labels: Labels, versions: Mapping[str, str]) -> Section:
    """The section on the data, the versions, and the command that makes the page again.

    Parameters
    ----------
    rows
        pairs of a term and its description.
    """
    entries: list[tuple[str, object]] = [
        *rows,
        *((key, name(value)) for key, value in (labels.sources or {}).items()),
        ("versions", ", ".join(f"{library} {number}" for library, number in versions.items())),
    ]
    parts = [tag("dl", *(join(tag("dt", term), tag("dd", text)) for term, text in entries), class_="facts")]
    if labels.command is not None:
        parts.append(tag("h3", "To make this page again"))
        parts.append(tag("pre", tag("code", labels.command)))
    return "data", "Data and versions", join(*parts)


def _colophon(versions: Mapping[str, str]) -> Html:
    day = datetime.now(UTC).date().isoformat()
    text = f"Written by prunemodels {versions['prunemodels']} on {day}. It is complete: it loads nothing from elsewhere."
    return tag("p", text)
