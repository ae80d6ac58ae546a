"""Error messages that name the command-line option that they are about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from formulations.errors import PruneModelsError

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
