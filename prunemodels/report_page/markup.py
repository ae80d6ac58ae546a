"""HTML and inline SVG from Python calls. Everything that is not `Html` is escaped."""

from __future__ import annotations

import html
import re

VOID = {"meta", "line", "rect", "circle", "path", "br"}
"""Elements that this package writes without content."""

UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that an HTML document must not contain."""


class Html(str):
    """Text that is markup and must not be escaped again."""

    __slots__ = ()


def escape(text: object) -> Html:
    """Escape a text, so that it is safe between tags and within quotes."""
    if isinstance(text, Html):
        return text
    return Html(html.escape(UNPRINTABLE.sub("\ufffd", str(text)), quote=True))


def tag(element: str, *children: object, **attributes: object) -> Html:
    """Write an element: ``tag("p", "a < b", class_="note")``.

    Parameters
    ----------
    children
        text, which is escaped, or `Html`; None is left out.
    attributes
        a trailing underscore is dropped, others become hyphens. None and False are left out; True gives the name alone.
    """
    parts = [element]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        key = name.rstrip("_").replace("_", "-")
        parts.append(key if value is True else f'{key}="{html.escape(UNPRINTABLE.sub(chr(0xFFFD), str(value)), quote=True)}"')
    start = " ".join(parts)
    if element in VOID and not children:
        return Html(f"<{start}>" if element in {"meta", "br"} else f"<{start}/>")
    return Html(f"<{start}>{join(*children)}</{element}>")


def join(*parts: object) -> Html:
    """Join parts; those that are not `Html` are escaped, None is left out."""
    return Html("".join(escape(part) for part in parts if part is not None))


def name(text: object) -> Html:
    """A name that the user chose. It is isolated, so that right-to-left text does not reorder its surroundings."""
    return tag("bdi", text)


def table(caption: object, header: list[object], rows: list[list[object]], *, id_: str, class_: str | None = None) -> Html:
    """A table with a caption; the first cell of a row is its header. It scrolls sideways on narrow screens."""
    head = tag("tr", *(tag("th", cell, scope="col") for cell in header))
    body = [tag("tr", tag("th", row[0], scope="row"), *(tag("td", cell) for cell in row[1:])) for row in rows]
    inner = tag(
        "table", tag("caption", tag("span", caption), id=f"{id_}-caption"), tag("thead", head), tag("tbody", *body), class_=class_
    )
    return tag("div", inner, class_="scroll", role="region", tabindex="0", aria_labelledby=f"{id_}-caption")
