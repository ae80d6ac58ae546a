"""Payments and requests, class by class."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import prunemodels as pm
from formulations.errors import InvalidInputError
from prunemodels.report_page.page import report_page
from prunemodels.report_page.payers import Answers, Payers, payers
from tests.prunemodels.report_page.cases import regressor

ITEMS = pm.CostItems.plain([1, 5], ["visit", "scan"])
TRUTH = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])  # places of the labels
BEFORE = Answers(np.array([0, 0, 0, 0, 1, 1, 1, 1, 0]), np.full(9, 6.0), np.ones((2, 9), dtype=bool))
AFTER = Answers(
    np.array([0, 0, 1, 1, 0, 1, 0, 0, 1]),
    np.array([1.0, 1, 1, 1, 1, 6, 1, 6, 6]),
    np.array([[1] * 9, [0, 0, 0, 0, 0, 1, 0, 1, 1]], dtype=bool),
)


def compared(classes: tuple[str, ...]) -> Payers | None:
    """The nine examples: four of the second class."""
    known = np.array(classes)
    answers = [replace(answer, said=known[answer.said]) for answer in (BEFORE, AFTER)]
    return payers(known, known[TRUTH], np.ones(9), answers, ITEMS)


def test_payments_and_requests_by_group() -> None:
    """The ill paid 6 and pay 4.75 now, in the middle 6; of them three in four have a scan, of the well none."""
    found = compared(("well", "ill"))
    assert found is not None
    assert found.positive == "ill"
    groups = {group.name: group for group in found.groups}
    assert groups["“ill”"].after == (4.75, 6, 6)
    assert groups["“well”"].after == (1, 1, 1)
    assert groups["called “ill”"].n == 4
    scan, visit = found.items
    assert (scan.label, scan.positive, scan.other) == ("scan", (1, 0.75), (1, 0))
    assert (visit.label, visit.positive, visit.other) == ("visit", (1, 1), (1, 1))
    assert compared(("well", "ill", "unsure")) is None


def test_a_page_on_numbers_has_no_classes() -> None:
    """Naming a positive class there is refused."""
    case = regressor()
    with pytest.raises(InvalidInputError, match="positive is 'ill', and the model predicts numbers"):
        report_page(case.path, case.forest, case.X, case.y, chosen=case.some, positive="ill")
