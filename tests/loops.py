"""Many small instances in one test: a loop over values of a parameter, which names the value that failed."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., None]


def looped(names: str | tuple[str, ...], values: Iterable[Any] | Callable[[], Iterable[Any]]) -> Callable[[Test], Test]:
    """`pytest.mark.parametrize` as a loop: the test is one item, and runs for each value in turn.

    Starting a test takes longer than most of the small random instances do. The value that fails is added to the traceback as a
    note. Values whose data are missing are skipped: the test runs for all the others, and is then reported as skipped. Values
    that take long to find are given as a function, which is called when the test runs.
    """
    keys = (names,) if isinstance(names, str) else names
    given_rows = [] if callable(values) else list(values)

    def decorate(test: Test) -> Test:
        signature = inspect.signature(test)
        assert set(keys) <= set(signature.parameters), f"{test.__name__} has no parameters {names}"

        @functools.wraps(test)
        def loop(*args: Any, **fixtures: Any) -> None:
            skipped: list[str] = []
            rows = list(values()) if callable(values) else given_rows
            assert rows, f"no values of {names}"
            for row in rows:
                given = dict(zip(keys, (row,) if isinstance(names, str) else row, strict=True))
                try:
                    test(*args, **fixtures, **given)
                except pytest.skip.Exception as skip:
                    skipped.append(str(skip))
                except BaseException as error:
                    error.add_note(", ".join(f"{key} = {value!r}" for key, value in given.items()))
                    raise
            if skipped:
                pytest.skip(f"{len(skipped)} of {len(rows)} values of {', '.join(keys)}: {skipped[0]}")

        left = [parameter for key, parameter in signature.parameters.items() if key not in keys]
        loop.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return loop

    return decorate
