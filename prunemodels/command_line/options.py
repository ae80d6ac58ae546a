"""Options as lines of text, as `prunemodels.command_line.commands` has them, and the types of their values.

    # HEADING               the options below stand under this heading of the help
    --name                  an option without a value
    --name WORD:TYPE=VALUE  one with a value: what help calls it, its type (default: text), and its default
    --name a|b:choice=a     one with a choice of values
    --name WORD+:TYPE       one that may be given several times: the value is a list
    | --name ...            one of several that exclude each other; with |! one of them is required
    name WORD               an argument by its place

An exclamation mark behind WORD makes the option required. Two blanks or more separate an option from its help, which goes on in
indented lines.
"""

from __future__ import annotations

import argparse
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from formulations.errors import InvalidInputError
from formulations.instance.limit import Limit

NOT_WITH_UNDERSCORES = "a number is written without underscores"

LINE = re.compile(
    r"(?P<one>\|!? )?(?P<name>[\w-]+)(?: (?P<value>[^ :!=+]+)(?P<many>\+)?(?P<need>!)?(?::(?P<type>\w+))?(?:=(?P<default>\S+))?)?"
)
"""An option without its help."""


def add_options(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the options of a text to a parser."""
    group: Any = parser
    exclusive: Any = None
    for line, about in _entries(text):
        if line.startswith("# "):
            group = parser.add_argument_group(line[2:])
            continue
        found = LINE.fullmatch(line)
        assert found is not None, line
        if not found["one"]:
            exclusive = None
        elif exclusive is None:
            exclusive = group.add_mutually_exclusive_group(required="!" in found["one"])
        (exclusive or group).add_argument(found["name"], help=about, **_settings(found))


def _entries(text: str) -> Iterator[tuple[str, str]]:
    """Options and headings, each with its help."""
    for entry in re.split(r"\n(?=\S)", text.strip()) if text else ():
        line, _, about = entry.replace("\n", "  ", 1).partition("  ") if not entry.startswith("# ") else (entry, "", "")
        yield line.strip(), " ".join(about.split()).replace("%", "%%")


def _settings(found: re.Match[str]) -> dict[str, Any]:
    """What argparse needs beside the name."""
    if found["value"] is None:
        return {"action": "store_true"} if found["name"].startswith("-") else {}
    choice = found["type"] == "choice"
    read = TYPES[found["type"]] if found["type"] and not choice else str
    default = None if found["default"] is None else read(found["default"])
    given = {"type": read, "default": default} | ({"required": True} if found["need"] else {})
    given |= {"action": "append"} if found["many"] else {}
    return given | ({"choices": tuple(found["value"].split("|"))} if choice else {"metavar": found["value"]})


def number(kind: str, remedy: str, holds: Callable[[float], bool]) -> Callable[[str], float]:
    """The type of a number: `kind` and `remedy` are for the message about a number for which `holds` is False."""

    def read(text: str) -> float:
        value = _number(text)
        if not holds(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not a {kind}; give {remedy}")
        return value

    return read


def _number(text: str) -> float:
    if "_" in text:  # Python reads 1_0 as 10
        raise argparse.ArgumentTypeError(f"{text!r}: {NOT_WITH_UNDERSCORES}")
    for given, said in ((text, None), (text.replace(",", "."), f"has a decimal comma; write {text.replace(',', '.')}")):
        try:
            value = float(given)
        except ValueError:
            continue
        if said is None:
            return value
        raise argparse.ArgumentTypeError(f"{text!r} {said}")
    raise argparse.ArgumentTypeError(f"{text!r} is not a number")


nonnegative = number("price or budget", "a finite number >= 0", lambda x: 0 <= x < math.inf)


def limit(text: str) -> Limit:
    """``minutes=30`` or ``mri<=0.3``."""
    try:
        return Limit.parse(text)
    except InvalidInputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def names(text: str) -> list[str]:
    """Names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]


def amounts(text: str) -> list[float]:
    """Numbers >= 0 between commas, at least one."""
    found = [nonnegative(word) for word in names(text)]
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} has no number; give one, or several between commas")
    return found


def pairs(text: str) -> dict[str, str]:
    """``1=0,2=1`` as a mapping."""
    found = [word.partition("=") for word in names(text)]
    if not found or not all(equals and old and new for old, equals, new in found):
        raise argparse.ArgumentTypeError(f"{text!r} maps no labels; give pairs such as 1=0,2=1")
    return {old.strip(): new.strip() for old, _, new in found}


def mistakes(text: str) -> dict[tuple[str, str], float]:
    """``ill:well=10,well:ill=1`` as a mapping from (true class, predicted class) to costs."""
    found = {}
    for word in names(text):
        classes, equals, cost = word.rpartition("=")
        true, colon, said = classes.partition(":")
        if not (equals and colon and true.strip() and said.strip()):
            raise argparse.ArgumentTypeError(f"{text!r} has {word!r}; give TRUE:PREDICTED=COST, such as ill:well=10,well:ill=1")
        found[true.strip(), said.strip()] = nonnegative(cost)
    return found


def count(text: str) -> int:
    """An integer >= 1."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a count; give a whole number >= 1")
    return int(text)


TYPES: dict[str, Callable[[str], Any]] = {
    "amount": nonnegative,
    "amounts": amounts,
    "confidence": number("confidence level", "a number between 0 and 1, such as 0.95", lambda x: 0 < x < 1),
    "count": count,
    "limit": limit,
    "mistakes": mistakes,
    "names": names,
    "pairs": pairs,
    "part": number("share", "a number between 0 and 1, such as 0.25", lambda x: 0 < x < 1),
    "seconds": number("time", "seconds >= 0", lambda x: x >= 0),
    "share": number("share", "a number from 0 to 1", lambda x: 0 <= x <= 1),
    "whole": int,
}
"""The types of values, by the names that the texts give them."""
