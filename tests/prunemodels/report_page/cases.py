"""Small forests and what a report needs of them, each built once; what every page must be: `check_page`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import prunemodels as pm

HOSTILE = (
    "<script>alert(1)</script>",
    "a & \"b\" 'c' --> ]]>",
    "tem\u00adp\u00e9rature \U0001f321\ufe0f",
    "x" * 200,
    "\u202eright to left\u202c",
    "</table></svg></title><h1>",
)


@dataclass(frozen=True, eq=False)
class Case:
    """A path, its forest and held-out examples."""

    path: Any
    forest: Any
    X: Any
    y: Any

    @property
    def some(self) -> Any:
        """A row in the middle of the path."""
        return self.path[len(self.path) // 2]


def features(n: int, seed: int, names: tuple[str, ...] = HOSTILE) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, len(names))).round(1), columns=list(names))


@cache
def classifier() -> Case:
    """Hostile names, an item that two features share, an item paid once, a price of splits."""
    X, X_cost, X_held = features(150, 0), features(60, 1), features(80, 2)
    y, y_held = ((f.iloc[:, 3] > 0) ^ ((f.iloc[:, 0] > 1) & (f.iloc[:, 5] > 0)) ^ (f.iloc[:, 2] > 1.4) for f in (X, X_held))
    forest = RandomForestClassifier(9, max_depth=6, max_features=4, random_state=0).fit(X, y)
    items = pm.CostItems.from_items(
        {"<lab>": 2, "own & only": 1.5, "licence": 0.125, "free": 0, "last": 0.75},
        [["<lab>"], ["<lab>", "own & only"], ["free"], ["last"], ["licence", "last"], ["own & only"]],
        once=["licence"],
    )
    problem = pm.problem_from_forest(forest, X_cost, costs=items, evaluation_cost=0.01)
    return Case(pm.pruning_path(problem), forest, X_held, y_held.to_numpy())


@cache
def regressor() -> Case:
    """A regression forest on arrays."""
    X, X_cost, X_held = (features(n, seed).to_numpy() for n, seed in ((150, 3), (60, 4), (80, 5)))
    y, y_held = (2 * rows[:, 0] - rows[:, 3] for rows in (X, X_held))
    forest = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, y)
    return Case(pm.pruning_path(pm.problem_from_forest(forest, X_cost, costs=1)), forest, X_held, y_held)


class Page(HTMLParser):
    """A page as a list of elements; `problems` are what a browser would have to mend."""

    VOID = frozenset({"meta", "br", "line", "rect", "circle", "path", "link", "img"})

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], tuple[str, ...]]] = []
        self.texts: list[tuple[str, str]] = []
        self.problems: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        self.problems += [f"<{name}> is not closed" for name in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        if len(set(names)) != len(names):
            self.problems.append(f"<{tag}> has an attribute twice")
        self.elements.append((tag, dict(attrs), tuple(self._open)))
        if tag not in {"meta", "br"}:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), tuple(self._open)))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open.pop() != tag:
            self.problems.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Attributes of every such element."""
        return [attributes for name, attributes, _ in self.elements if name == tag]

    def text(self, tag: str | None = None) -> str:
        """All text directly in such elements; default: all but the style sheet's."""
        return " ".join(data for name, data in self.texts if (name != "style" if tag is None else name == tag))


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
