"""Bars that count decided splits."""

from __future__ import annotations

import io
import sys
from functools import partial

import pytest

import prunemodels as pm
from prunemodels.example import X_valid, forest, y_valid
from solvers import progress
from solvers.path.pruning_path import divide_and_conquer
from tests.solvers.cases import instance


class Terminal(io.StringIO):
    """A standard error stream, at a terminal or not."""

    def __init__(self, *, at_terminal: bool) -> None:
        super().__init__()
        self.at_terminal = at_terminal

    def isatty(self) -> bool:
        return self.at_terminal


@pytest.mark.parametrize("at_terminal", [True, False])
def test_nobody_asked_for_a_bar(monkeypatch: pytest.MonkeyPatch, at_terminal: bool) -> None:
    """It is shown on a terminal, where it takes long, and nowhere else: for a budget and for a rule."""
    monkeypatch.setattr(progress, "tqdm", partial(progress.tqdm, mininterval=0))
    monkeypatch.setattr(progress, "SECONDS_UNASKED", 0.0)
    for goal in ({"budget": 9.7}, {"choose": "knee"}):
        stream = Terminal(at_terminal=at_terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        pm.prune_forest(forest, X_valid, y_valid, **goal)
        assert ("splits decided" in stream.getvalue()) == at_terminal
        monkeypatch.setattr(progress, "SECONDS_UNASKED", 3600.0)  # what is quick shows nothing
        quick = Terminal(at_terminal=at_terminal)
        monkeypatch.setattr(sys, "stderr", quick)
        pm.prune_forest(forest, X_valid, y_valid, **goal)
        assert quick.getvalue() == ""
        monkeypatch.setattr(progress, "SECONDS_UNASKED", 0.0)


def test_the_time_goes_on_while_nothing_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds on a large part take minutes: every ten of them show the bar again."""
    monkeypatch.setattr(progress, "tqdm", partial(progress.tqdm, mininterval=0))
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    ticks: list[int] = []
    monkeypatch.setattr(progress.Progress, "tick", lambda bar: ticks.append(bar._decided))
    monkeypatch.setattr(sys, "stderr", Terminal(at_terminal=True))
    divide_and_conquer(instance("iris"), largest=0, progress=True)
    assert len(ticks) > len(set(ticks)) > 1
