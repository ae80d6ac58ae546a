"""Calls in a process of their own: their answers, their errors, and how they end."""

from __future__ import annotations

import math
import os
import signal
import time

import numpy as np
import pytest

from formulations import InvalidInputError, SolverFailedError
from solvers.child_process import Call, TimeIsOver, call_in_child, in_this_process, stays_here


def together(subject: list[int], more: int, *, time_limit: float, times: int = 1) -> tuple[list[int], int, bool, bool]:
    """The subject, a number, whether there is a time limit, and whether calls stay here."""
    return subject, (subject[0] + more) * times, math.isfinite(time_limit), stays_here()


def fails(subject: list[int], *, time_limit: float) -> None:
    """Raises an error of the package."""
    raise InvalidInputError(f"subject is {subject}; no good")


def kills_itself(subject: list[int], *, time_limit: float) -> None:
    """Ends as if memory had run out."""
    os.kill(os.getpid(), signal.SIGKILL)


def sleeps(subject: list[int], *, time_limit: float) -> None:
    """Does not heed its limit."""
    time.sleep(1000)


def cannot_be_sent(subject: list[int], *, time_limit: float) -> object:
    """Returns what no pickle can hold."""
    return lambda: subject


def a_call(function: object, subject: object, *arguments: object, time_limit: float = math.inf, **options: object) -> Call:
    return Call(__name__, function.__name__, subject, arguments, dict(options), time_limit, time.time())  # type: ignore[attr-defined]


def test_an_answer_refers_to_the_callers_own_subject() -> None:
    """Arguments and options arrive; where the answer holds the subject, the caller gets its own object and no copy."""
    mine = [40]
    subject, number, limited, stays = call_in_child(a_call(together, [40], 2, times=10, time_limit=1000), mine)
    assert subject is mine
    assert (number, limited, stays) == (420, True, True)


def test_errors_are_raised_here() -> None:
    """An error of the function is raised in the caller; a process that was killed, or could not answer, is told."""
    with pytest.raises(InvalidInputError, match=r"subject is \[1\]; no good"):
        call_in_child(a_call(fails, [1]), [1])
    with pytest.raises(SolverFailedError, match=r"was killed by signal 9 .* perhaps because memory ran out"):
        call_in_child(a_call(kills_itself, [1]), [1])
    with pytest.raises(SolverFailedError, match="could not send its answer"):
        call_in_child(a_call(cannot_be_sent, [1]), [1])


def test_a_process_that_does_not_heed_its_limit_is_killed() -> None:
    """A second after the limit the process is killed, however long it would have slept."""
    with pytest.raises(TimeIsOver):
        call_in_child(a_call(sleeps, [1], time_limit=0.1), [1])


def test_a_reserve_takes_at_most_a_third() -> None:
    """Of 90 s the function gets 60 where the reserve is large, 80 where it is 10 s, and all of an endless limit."""
    for reserve, left in ((1000.0, 60.0), (10.0, 80.0)):
        np.testing.assert_allclose(Call("", "", None, (), {}, 90.0, time.time(), reserve).seconds_left(), left, atol=1.0)
    assert Call("", "", None, (), {}, math.inf, time.time(), 1000.0).seconds_left() == math.inf


def test_calls_stay_here_in_a_block_only() -> None:
    """The block ends, also by an error."""
    said = []
    with pytest.raises(ZeroDivisionError), in_this_process():
        said.append(1 / (not stays_here()))
    assert not said
    assert not stays_here()
