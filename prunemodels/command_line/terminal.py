"""Colour and weight of text, where a terminal shows them: never in files and pipes, nor where NO_COLOR is set.

https://no-color.org: with any value but the empty one, the environment variable NO_COLOR asks for plain text.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TextIO

STYLES = {"bold": "1", "faint": "2", "warning": "1;33", "bad": "1;31", "good": "32"}
"""Codes of ANSI terminals (ECMA-48, SGR). Nothing is said by colour alone."""


def styled(text: str, style: str, stream: TextIO | None = None) -> str:
    """A text in one of `STYLES`, or as it is where the stream (default: stdout) does not show styles."""
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m" if shows_styles(sys.stdout if stream is None else stream) else text


def shows_styles(stream: TextIO | None) -> bool:
    """Whether the stream is a terminal that shows colours, and the user has not declined them."""
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def shows_progress(args: argparse.Namespace) -> bool:
    """Whether progress bars are shown: on a terminal alone, and not with ``--quiet``."""
    return not args.quiet and sys.stderr is not None and sys.stderr.isatty()
