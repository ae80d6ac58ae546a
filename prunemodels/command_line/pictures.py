"""The pictures of ``--picture``, of every command that has the option: reserved before any work, drawn beside their places."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from prunemodels.command_line.refusals import errors_naming


def reserve_pictures(args: argparse.Namespace) -> list[Path]:
    """The files of ``--picture``, reserved; none without that option."""
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
