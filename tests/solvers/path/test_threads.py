"""Dividing in threads: outcomes in order, faults passed on."""

from __future__ import annotations

import threading
import time

import pytest

from solvers.path.decomposition import divide


def halve(span: tuple[int, int]) -> tuple[list[int], list[tuple[int, int]]]:
    """A span of numbers is one number, or two spans; the lower one takes longer."""
    first, last = span
    if last - first == 1:
        return [first], []
    if first == 0:
        time.sleep(0.002)
    middle = (first + last) // 2
    return [], [(first, middle), (middle, last)]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_outcomes_come_in_order(threads: int) -> None:
    """However many threads there are, and whoever is first: outcomes in the order of the items."""
    told: list[int] = []
    assert divide((0, 50), halve, threads=threads, done=lambda found: told.extend(found)) == list(range(50))
    assert sorted(told) == list(range(50))


def test_several_outcomes_and_none() -> None:
    """An item may have several outcomes, or come to nothing."""
    assert divide(3, lambda n: ([n, n], []) if n < 3 else ([], [2, 1]), threads=2, done=lambda found: None) == [2, 2, 1, 1]
    assert divide(3, lambda n: ([], []), threads=2, done=lambda found: None) == []


def test_two_threads_work_at_a_time() -> None:
    """Two steps that wait for each other come to an end."""
    meet = threading.Barrier(2, timeout=10)

    def step(n: int) -> tuple[list[int], list[int]]:
        if n == 0:
            return [], [1, 2]
        meet.wait()
        return [n], []

    assert divide(0, step, threads=2, done=lambda found: None) == [1, 2]


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt])
def test_faults_are_passed_on(threads: int, fault: type[BaseException]) -> None:
    """What a step raises arrives, and what waited is not begun."""
    begun: list[int] = []

    def step(n: int) -> tuple[list[int], list[int]]:
        begun.append(n)
        if n == 0:
            return [], list(range(1, 200))
        if len(begun) == 3:
            raise fault("here")
        time.sleep(0.01)
        return [n], []

    with pytest.raises(fault):
        divide(0, step, threads=threads, done=lambda found: None)
    assert len(begun) < 100
