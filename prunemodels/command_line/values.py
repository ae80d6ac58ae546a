"""What the values of options may be, and what they become; a wrong one is refused with the remedy."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from formulations.errors import InvalidInputError

if TYPE_CHECKING:
    from formulations.instance.limit import Limit

NOT_WITH_UNDERSCORES = "a number is written without underscores"


def number(kind: str, remedy: str, holds: Callable[[float], bool]) -> Callable[[str], float]:
    """The type of a number: `kind` and `remedy` are for the message about a number for which `holds` is False."""

    def read(text: str) -> float:
        if "_" in text:  # Python reads 1_0 as 10
            raise argparse.ArgumentTypeError(f"{text!r}: {NOT_WITH_UNDERSCORES}")
        try:
            value = float(text.replace(",", "."))
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} is not a number") from error
        if "," in text:
            raise argparse.ArgumentTypeError(f"{text!r} has a decimal comma; write {text.replace(',', '.')}")
        if not holds(value):
            raise argparse.ArgumentTypeError(f"{text!r} is not a {kind}; give {remedy}")
        return value

    return read


nonnegative = number("price or budget", "a finite number >= 0", lambda x: 0 <= x < math.inf)


def limit(text: str) -> Limit:
    """``minutes=30`` or ``mri<=0.3``."""
    from formulations.instance.limit import Limit  # NumPy, which help need not wait for

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
    "whole": int,
}
"""The types of values, by the names that options give them."""
