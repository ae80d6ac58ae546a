"""Error messages that name the command-line option that they are about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from formulations.errors import PruneModelsError


@contextmanager
def errors_naming(option: str) -> Iterator[None]:
    """Have the messages of errors in the block begin with the option that they are about."""
    try:
        yield
    except PruneModelsError as error:
        if str(error).startswith("--"):
            raise
        raise type(error)(f"{option}: {error}") from error
