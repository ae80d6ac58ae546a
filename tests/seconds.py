"""Which quick tests are not quick: ``python -m tests.seconds`` names those that want the marker ``slow``, or a smaller instance.

What counts is CPU time, of the test and of the processes that it began, since wall time depends on what else the machine does.
Run it after ``make test``, with all kernels compiled. Arguments are pytest's: ``-m slow`` lists what slow tests cost.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest

MOST_SECONDS = 0.5  # tests that take more CPU time than this are slow


def cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


class Stopwatch:
    """A plugin of pytest that prints the tests that take long, the longest first."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        """Measure a test, with its fixtures."""
        start = cpu_seconds()
        yield
        self.seconds[item.nodeid] = cpu_seconds() - start

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Name them below the results."""
        terminalreporter.section(f"{sum(self.seconds.values()):.0f} s of CPU time; more than {MOST_SECONDS} s take")
        for name, seconds in sorted(self.seconds.items(), key=lambda test: -test[1]):
            if seconds > MOST_SECONDS:
                terminalreporter.write_line(f"{seconds:7.2f} s  {name}")


if __name__ == "__main__":
    raise SystemExit(pytest.main(["-n0", "-q", *sys.argv[1:]], plugins=[Stopwatch()]))
