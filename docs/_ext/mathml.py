"""Formulas as MathML, converted at build time by Docutils: browsers show them without network and without JavaScript."""

from __future__ import annotations

import html
import re
import xml.etree.ElementTree as ET
from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math import MathError, latex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

MATHML = "http://www.w3.org/1998/Math/MathML"
TAG = re.compile(r"\\tag\{([^{}]*)\}")
SIMPLER = [
    (re.compile(r"\\(begin|end)\{align\*\}"), r"\\\1{aligned}"),
    (re.compile(r"\\(?:text|display)style(?![a-zA-Z])\s*"), ""),  # MathML has the style from where the formula stands
    (re.compile(r"\\[bB]igg?(?![a-zA-Z])\s*"), ""),  # fences stretch by themselves
    (re.compile(r"\\[dt]?frac\s*(\d)\s*(\d)"), r"\\frac{\1}{\2}"),  # Docutils reads 12 as one number
    (re.compile(r"\\[dt]?frac\s*(\d)\s*\{"), r"\\frac{\1}{"),
    (re.compile(r"\\setminus(?![a-zA-Z])"), r"\\,\\backslash\\,"),  # few fonts have the sign of a set difference
]
"""LaTeX that Docutils' converter does not know, and the same in what it knows."""


def simpler(source: str) -> str:
    """The formula in the LaTeX that the converter knows."""
    for pattern, replacement in SIMPLER:
        source = pattern.sub(replacement, source)
    return source


def labelled(formula: str) -> str:
    """The formula with what is written under a brace set under it; Docutils makes it an index."""
    if "⏟" not in formula:
        return formula
    ET.register_namespace("", MATHML)
    tree = ET.fromstring(formula)
    for node in tree.iter(f"{{{MATHML}}}msub"):
        if node[0].tag == f"{{{MATHML}}}munder" and node[0][-1].text == "⏟":
            node.tag = f"{{{MATHML}}}munder"
    return ET.tostring(tree, encoding="unicode")


PROSE = re.compile(r"(?<!\\)%|^\d[\d.,]*(?:: | to | of | (?:[a-z]{3,} ){2})")
"""What begins a comment in LaTeX, so that the rest is lost; and amounts of money, whose dollar signs became a formula's."""


def converted(node: Any, source: str, *, block: bool) -> str:
    """The MathML of a formula; a formula that cannot be converted is a warning, so that a strict build fails."""
    if PROSE.search(source):
        logger.warning("formula %r: are these dollars? Write \\$ for a dollar, and \\%% in a formula", source, location=node)
    try:
        return labelled(str(latex2mathml.tex2mathml(simpler(source), as_block=block)))
    except (MathError, AttributeError) as error:  # what Docutils raises where a line ends within a line
        logger.warning("formula %r: %s", source, error, location=node)
        return f"<code>{html.escape(source)}</code>"


def inline(self: Any, node: Any) -> None:
    """A formula in a line."""
    self.body.append(converted(node, node.astext().strip(), block=False))
    raise SkipNode


def display(self: Any, node: Any) -> None:
    r"""A formula on lines of its own, with its ``\tag`` or number if it has one."""
    source = node.astext().strip()
    tag = TAG.search(source)
    number = tag[1] if tag else node.get("number")
    name = f'<span class="eqno">({html.escape(str(number))})</span>' if number else ""
    formula = f'<div class="formula">{converted(node, TAG.sub("", source), block=True)}</div>'  # scrolls beside its number
    self.body.append(f"{self.starttag(node, 'div', CLASS='math')}{formula}{name}</div>\n")
    raise SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Make ``html_math_renderer = "mathml"`` known."""
    app.add_html_math_renderer("mathml", inline_renderers=(inline, None), block_renderers=(display, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
