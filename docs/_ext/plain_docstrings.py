"""The packages' docstrings are written to be read as they are; this makes reStructuredText of them.

An indented block is a formula or a drawing: it stays as it is, as a literal block. A bar or a trailing underscore in a sentence
(``|S_h|``, ``cost_``) is a character, not markup.
"""

from __future__ import annotations

import inspect
import re
import sys
from typing import Any

from sphinx.application import Sphinx
from sphinx.domains.python import PyProperty

CODE = re.compile(r"(``.*?``|`[^`]*`_?)")
ARRAY = re.compile(
    r"(?:~numpy\.)?ndarray\[tuple\[(?:~typing\.)?Any, \.\.\.\], "
    r"(?:~numpy\.)?dtype\[([~\w.]+)(?:\[(?:~typing\.)?Any\])?\]\]"
)
RANGE = re.compile(r"(?:~typing\.)?Annotated\[(\w+), (?:~formulations\.arguments\.)?Range\([^()]*\)\]")
PRICE = re.compile(r"float \| int \| (?:~?fractions\.)?Fraction \| (?:~?decimal\.)?Decimal")
FITTED = re.compile(r"(?<!`)`(\w+_)`(?!`)")
"""What `fit` learns, such as classes_: many classes have it, so it is no link."""
FORWARD = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
CONSTANT = re.compile(r"(?<== )[A-Z][A-Z_]+\b")
MARKUP = re.compile(r"(?<!\\)\||(?<=\w)_(?=[\s.,:;)\]]|$)")


def indent(line: str) -> int:
    """How many spaces a line starts with."""
    return len(line) - len(line.lstrip())


def escaped(line: str) -> str:
    """The line with what looks like markup escaped, outside of code."""
    return "".join(part if part.startswith("`") else MARKUP.sub(r"\\\g<0>", part) for part in CODE.split(line))


def marked(lines: list[str]) -> list[str]:
    """The lines with ``::`` before each block that is indented more than the paragraph above it."""
    out: list[str] = []
    literal: int | None = None  # the indentation of what is above the literal block that we are in
    above = ""
    session = False  # an example of the interpreter, up to the next empty line
    for number, line in enumerate(lines):
        session = bool(line.strip()) and (session or line.lstrip().startswith(">>> "))
        if not line.strip() or session:
            out.append(line)
            continue
        if literal is not None and indent(line) <= literal:
            literal = None
        blank_before = number > 0 and not lines[number - 1].strip()
        listed = re.match(r"\s*([-*]|\d+\.|\.\.) ", above)
        if literal is None and blank_before and above and indent(line) > indent(above) and not listed:
            literal = indent(above)
            if not above.rstrip().endswith("::"):
                out.extend([" " * literal + "::", ""])
        if literal is None:
            above = line
        out.append(line if literal is not None or re.fullmatch(r"\s*-{3,}", line) else escaped(line))
    return out


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Before the sections (Parameters, Returns) are parsed."""
    lines[:] = [FITTED.sub(r"``\1``", line) for line in marked(lines)]


def shorter(signature: str) -> str:
    """A signature with the types as they were written: NDArray[float64], Price; the docstring says the range of a number."""
    signature = RANGE.sub(r"\1", FORWARD.sub(r"\1", signature)).replace("<factory>", "...")
    return PRICE.sub("Price", ARRAY.sub(r"NDArray[\1]", signature))


def with_values(signature: str, thing: Any) -> str:
    """The signature with numbers in place of the names of its module's constants."""
    home = vars(sys.modules.get(getattr(inspect.unwrap(thing), "__module__", ""), re))
    homes = [vars(sys.modules[base.__module__]) for base in getattr(thing, "__mro__", ())]

    def value(found: re.Match[str]) -> str:
        return next((repr(names[found[0]]) for names in [home, *homes] if found[0] in names), found[0])

    return CONSTANT.sub(value, signature)


def process_signature(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """What autodoc shows of a function's types."""
    return signature and with_values(shorter(signature), obj), returned and shorter(returned)


class Property(PyProperty):
    """A property, with its type as it was written."""

    def handle_signature(self, sig: str, signode: Any) -> tuple[str, str]:
        """Shorten the type first."""
        if "type" in self.options:
            self.options["type"] = shorter(self.options["type"])
        return super().handle_signature(sig, signode)


def setup(app: Sphinx) -> dict[str, Any]:
    """Join autodoc, ahead of napoleon."""
    app.connect("autodoc-process-docstring", process, priority=400)
    app.connect("autodoc-process-signature", process_signature)
    app.add_directive_to_domain("py", "property", Property, override=True)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
