"""Long steps are logged under the package's names, and nothing is shown without a request."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import pytest

import prunemodels as pm
from formulations.long_steps import timed_step
from prunemodels.example import X_valid, costs, forest, y_valid

LOG = logging.getLogger("prunemodels.a_test")


def messages(caplog: Any, level: int) -> list[tuple[str, str]]:
    return [(r.name, r.getMessage()) for r in caplog.records if r.levelno == level]


def test_a_step_says_when_it_begins_and_ends(caplog: pytest.LogCaptureFixture) -> None:
    """Two lines: what is done on what, and the seconds."""
    with caplog.at_level(logging.INFO, "prunemodels"), timed_step(LOG, "counting %d sheep", 3):
        pass
    (_, begun), (name, ended) = messages(caplog, logging.INFO)
    assert (name, begun) == ("prunemodels.a_test", "counting 3 sheep")
    assert ended.startswith("counting 3 sheep: done in ")


def test_a_step_that_fails_says_so(caplog: pytest.LogCaptureFixture) -> None:
    """The error goes on, and the log has its type."""
    with caplog.at_level(logging.INFO, "prunemodels"), pytest.raises(ZeroDivisionError), timed_step(LOG, "dividing"):
        _ = 1 / 0
    assert "dividing: ZeroDivisionError after" in caplog.text


def test_pruning_a_forest_logs_its_steps(caplog: pytest.LogCaptureFixture) -> None:
    """Problem, path and budget by the modules that do the work; rounds only at DEBUG."""
    with caplog.at_level(logging.INFO):
        result = pm.prune_forest(forest, X_valid, y_valid, costs=costs)
        pm.solve(result.problem, budget=10, method="path")
    names = {name for name, _ in messages(caplog, logging.INFO)}
    assert {"prunemodels.models.forests.problems", "solvers.path.pruning_path", "prunemodels.solving"} <= names
    assert any(text.startswith("path of PruningProblem(Ensemble(8 trees") for _, text in messages(caplog, logging.INFO))
    assert not messages(caplog, logging.DEBUG)


def test_nothing_is_shown_without_a_request() -> None:
    """A program that does not configure logging sees neither messages nor complaints."""
    program = (
        "import prunemodels as pm; from prunemodels.example import *; pm.prune_forest(forest, X_valid, costs=costs, budget=10)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == done.stderr == ""
