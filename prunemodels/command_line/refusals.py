"""Refusals that name the option of the command line that they are about."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from formulations.errors import PruneModelsError


@contextmanager
def named(option: str) -> Iterator[None]:
    """Have refusals begin with the option that they are about."""
    try:
        yield
    except PruneModelsError as error:
        if str(error).startswith("--"):
            raise
        raise type(error)(f"{option}: {error}") from error
