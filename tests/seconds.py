"""Which quick tests are not quick: ``make slow-list`` measures all and writes their names to ``tests/slow_tests.txt``.

`tests.conftest` gives the marker ``slow`` to the tests in this list, as if it stood at the tests. So `make test` stays short and
keeps nearly all tests, and `make test-slow` runs the others. What counts is CPU time, of the test and of the processes that it
began, since wall time depends on what else the machine does. Run it after ``make test``, with all kernels compiled.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LIST = Path(__file__).with_name("slow_tests.txt")

MOST_SECONDS = 0.5
"""Tests that take more CPU time than this are slow."""


def cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Stopwatch:
    """A plugin of pytest that writes the list of the tests that take long."""

    def __init__(self) -> None:
        self.slow: list[str] = []

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """Measure a test, with its fixtures."""
        start = cpu_seconds()
        yield
        if cpu_seconds() - start > MOST_SECONDS:
            self.slow.append(item.nodeid)

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the list, unless the run was broken off or a test failed."""
        if exitstatus == pytest.ExitCode.OK:
            LIST.write_text("\n".join(sorted(self.slow)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    LIST.unlink(missing_ok=True)
    raise SystemExit(pytest.main(["-n0", "-q", "-p", "no:randomly"], plugins=[Stopwatch()]))
