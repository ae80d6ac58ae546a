"""Error messages that name the command-line option that they are about; options that do not go together."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from contextlib import contextmanager

from formulations.errors import InvalidInputError, PruneModelsError

NAMED = re.compile(r"--|[A-Z|]+: ")
"""The beginning of a message that names its option."""


@contextmanager
def errors_naming(option: str) -> Iterator[None]:
    """Have the messages of errors in the block begin with the option that they are about, once."""
    try:
        yield
    except PruneModelsError as error:
        if NAMED.match(str(error)):
            raise
        raise type(error)(f"{option}: {error}") from error


def option_of(name: str) -> str:
    """``--held-out`` of ``held_out``."""
    return f"--{name.replace('_', '-')}"


def refuse(args: argparse.Namespace, names: str, why: str) -> None:
    """Refuse options that were given: the first of the names, and the reason with the remedy."""
    for name in names.split():
        if getattr(args, name) != args.defaults[name]:
            raise InvalidInputError(f"{option_of(name)} {why}")


def need(args: argparse.Namespace, names: str, why: str) -> None:
    """Refuse a command line without one of these options."""
    for name in names.split():
        if getattr(args, name) is None:
            raise InvalidInputError(f"{option_of(name)} {why}")
