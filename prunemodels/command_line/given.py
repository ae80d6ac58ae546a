"""What commands do with options: messages name them, some do not go together, pictures are drawn where they are asked for."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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


def shows_progress(args: argparse.Namespace) -> bool:
    """Whether progress bars are shown: on a terminal alone, and not with ``--quiet``."""
    return not args.quiet and sys.stderr is not None and sys.stderr.isatty()


def reserve(args: argparse.Namespace, name: str, *endings: str) -> list[Path]:
    """The file of an output option, reserved before any work; none without that option."""
    given = getattr(args, name)
    return [] if given is None else [args.outputs.reserve(given, option_of(name), endings=endings)]


def reserve_pictures(args: argparse.Namespace) -> list[Path]:
    """The files of ``--picture``; none without that option."""
    if getattr(args, "picture", None) is None:
        return []
    from prunemodels.plots.picture import picture_files

    with errors_naming("--picture"):
        files = picture_files(args.picture)
    return [args.outputs.reserve(file, "--picture") for file in files]


def draw_pictures(args: argparse.Namespace, figure: Callable[[], Any]) -> None:
    """Draw what the function `figure` returns, if pictures are asked for."""
    for picture in args.pictures:
        from prunemodels.plots.picture import draw

        draw(figure(), args.outputs.aside(picture))  # a figure anew: its layout would settle a little more at each drawing
