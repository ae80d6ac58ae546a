"""Errors of both kinds and payments, class by class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from formulations.errors import InvalidInputError
from prunemodels.report_page.by_class import Answers, ByClass, by_class
from prunemodels.report_page.page import report_page
from tests.prunemodels.report_page.cases import regressor

ITEMS = pm.CostItems.plain([1, 5], ["visit", "scan"])
TRUTH = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])  # places of the labels
BEFORE = Answers(np.array([0, 0, 0, 0, 1, 1, 1, 1, 0]), np.full(9, 6.0), np.ones((2, 9), dtype=bool))
AFTER = Answers(
    np.array([0, 0, 1, 1, 0, 1, 0, 0, 1]),
    np.array([1.0, 1, 1, 1, 1, 6, 1, 6, 6]),
    np.array([[1] * 9, [0, 0, 0, 0, 0, 1, 0, 1, 1]], dtype=bool),
)


def compared(classes: Any = ("well", "ill"), *, weights: Any = None, positive: Any = None) -> ByClass | None:
    """The nine examples: four of the second class."""
    w = np.ones(9) if weights is None else weights
    known = np.array(classes)
    answers = [replace(answer, said=known[answer.said]) for answer in (BEFORE, AFTER)]
    return by_class(known, known[TRUTH], w, answers, ITEMS, 0.95, positive)


def test_mistakes_of_both_kinds_by_hand() -> None:
    """Of four ill one was missed, now two: rows 6 and 7 are lost, row 8 is found. Of five well, one and two alarms."""
    found = compared()
    assert found is not None
    assert (found.positive, found.other) == ("ill", "well")
    assert [(r.count, r.of) for r in found.missed] == [(1, 4), (2, 4)]
    assert [(r.count, r.of) for r in found.alarms] == [(1, 5), (2, 5)]
    assert (found.lost, found.found) == (2, 1)


def test_intervals_are_exact() -> None:
    """Clopper and Pearson: 1 of 4 is 0.6 % to 80.6 %, 2 of 4 is 6.8 % to 93.2 %; 0 of 9 ends at 1 - 0.025^(1/9)."""
    found = compared()
    assert found is not None
    assert (found.missed[0].low, found.missed[0].high) == pytest.approx((0.00631, 0.80588), abs=1e-5)
    assert (found.missed[1].low, found.missed[1].high) == pytest.approx((0.06759, 0.93241), abs=1e-5)
    right = Answers(TRUTH, BEFORE.paid)
    none = by_class(np.array([0, 1]), TRUTH, np.ones(9), (right, right), ITEMS, 0.95)
    assert none is not None
    assert (none.missed[0].low, none.missed[0].high) == pytest.approx((0, 1 - 0.025 ** (1 / 4)))
    assert none.items == ()


def test_payments_and_requests_by_group() -> None:
    """The ill paid 6 and pay 4.75 now, in the middle 6; of them three in four have a scan, of the well none."""
    found = compared()
    assert found is not None
    groups = {group.name: group for group in found.groups}
    assert groups["“ill”"].after == (4.75, 6, 6)
    assert groups["“well”"].after == (1, 1, 1)
    assert groups["called “ill”"].n == 4
    scan, visit = found.items
    assert (scan.label, scan.positive, scan.other) == ("scan", (1, 0.75), (1, 0))
    assert (visit.label, visit.positive, visit.other) == ("visit", (1, 1), (1, 1))


def test_weights_count() -> None:
    """Row 8, the one that was missed before, has half of the weight of the ill, so that by weight the well are rarer."""
    weights = np.array([1.0] * 8 + [3.0])
    rarer, found = compared(weights=weights), compared(weights=weights, positive="ill")
    assert rarer is not None
    assert found is not None
    assert rarer.positive == "well"
    assert found.missed[0].share == pytest.approx(0.5)
    assert found.missed[1].share == pytest.approx(2 / 6)


def test_the_positive_class_is_the_rarer_or_the_one_named() -> None:
    """Four of nine are of the second class; with three classes one must be named, and is told from all others."""
    well = compared(positive="well")
    assert well is not None
    assert (well.positive, well.other, well.missed[1].count) == ("well", "ill", 2)
    assert compared(("well", "ill", "unsure")) is None
    one = compared(("well", "ill", "unsure"), positive="ill")
    assert one is not None
    assert one.other == "not ill"
    for positive, message in (("sick", "none of the classes"), ("unsure", "no examples have it")):
        with pytest.raises(InvalidInputError, match=message):
            compared(("well", "ill", "unsure"), positive=positive)


def test_a_page_on_numbers_has_no_classes() -> None:
    """Naming a positive class there is refused."""
    case = regressor()
    with pytest.raises(InvalidInputError, match="positive is 'ill', and the model predicts numbers"):
        report_page(case.path, case.forest, case.X, case.y, chosen=case.some, positive="ill")
