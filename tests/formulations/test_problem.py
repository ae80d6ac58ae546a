"""What an instance refuses."""

from __future__ import annotations

import numpy as np
import pytest

import formulations.problem
from formulations import CapacityOverflowError, CostItems, PruningProblem
from tests.instances import Node, ensemble_of, plain_errors


def test_more_purchases_than_can_be_numbered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the numbering's range the sizes are named, instead of numbers that wrap."""
    ensemble, error = ensemble_of([Node(1, 0, 0.5, Node(0), Node(0))], 3)
    sample, costs = plain_errors(ensemble, error, 1.0), CostItems.plain([1, 1, 1])
    monkeypatch.setattr(formulations.problem, "MOST_PURCHASES", 32)
    with pytest.raises(CapacityOverflowError, match=r"10 rows and costs 3 items: 30 possible purchases, 32 can"):
        PruningProblem.build(ensemble, sample, np.zeros((10, 3)), costs)
    assert PruningProblem.build(ensemble, sample, np.zeros((9, 3)), costs).n_purchases == 30
