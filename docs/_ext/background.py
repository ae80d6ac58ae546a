"""The directive ``.. background:: NAME``: the equations that an object's docstring cites, where its module has them.

A module of this project begins with its equations, numbered; docstrings in it say "see (1)". On a page of its own an object
stands without its module, so the module's text follows it there.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from plain_docstrings import marked
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

CITED = re.compile(r"(?<![\w)\]*])(?<!eq\. )\((\d)\)(?!\w)")
NUMBERED = re.compile(r"^ +\S.*\s\((\d)\)\s*$", re.MULTILINE)


def cited(text: str) -> set[str]:
    """Numbers of equations that a docstring speaks of, its examples left out."""
    prose = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith((">>>", "...")))
    return set(CITED.findall(prose))


def resolved(name: str) -> Any:
    """The object of a full name."""
    home, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(home), attribute)


def texts(thing: Any) -> list[str]:
    """The docstrings of an object and of what the project has written of its members."""
    found = [inspect.getdoc(thing) or ""]
    if isinstance(thing, type):
        homes = ("prunemodels", "formulations", "solvers", "proofs_checks")
        own = [cls for cls in thing.__mro__ if cls.__module__.split(".")[0] in homes]
        found += [inspect.getdoc(member) or "" for cls in own for name, member in vars(cls).items() if not name.startswith("_")]
    return found


def equations(thing: Any) -> str | None:
    """The docstring of the module that numbers what the object's docstrings cite; None where nothing is missing."""
    together = "\n".join(texts(thing))
    missing = cited(together) - set(NUMBERED.findall(together))
    if not missing:
        return None
    homes = [thing, *(thing.__mro__ if isinstance(thing, type) else ())]
    modules = [*dict.fromkeys(inspect.getmodule(inspect.unwrap(home)) for home in homes)]
    package = modules[0].__name__.rpartition(".")[0]
    named = [f"{package}.{name}" for name in re.findall(r"`(\w+)`", together)]  # "(5) of `global_loss`"
    modules += [importlib.import_module(name) for name in dict.fromkeys(named) if is_module(name)]
    for module in modules:
        text = inspect.getdoc(module) or ""
        if missing <= set(NUMBERED.findall(text)):
            return text
    return None


def is_module(name: str) -> bool:
    """Whether a module has this full name."""
    return importlib.util.find_spec(name) is not None


class Background(SphinxDirective):
    """See the module."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A section with the module's text, or nothing."""
        text = equations(resolved(self.arguments[0]))
        if text is None:
            return []
        title = "The equations"
        section = nodes.section(ids=[nodes.make_id(title)], names=[title.lower()])
        section += nodes.title(title, title)
        lines = StringList(marked(text.splitlines()), source=self.arguments[0])
        self.state.nested_parse(lines, self.content_offset, section)
        return [section]


def setup(app: Sphinx) -> dict[str, Any]:
    """Make the directive known."""
    app.add_directive("background", Background)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
