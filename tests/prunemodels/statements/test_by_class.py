"""Which classes models find: sensitivity and specificity, and what is to be read before any saving."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from formulations.errors import InvalidInputError
from prunemodels.statements.by_class import ByClass, by_class

TRUTH = np.array([0, 0, 0, 0, 0, 1, 1, 1, 1])  # places of the labels
BEFORE = np.array([0, 0, 0, 0, 1, 1, 1, 1, 0])
AFTER = np.array([0, 0, 1, 1, 0, 1, 0, 0, 1])


def compared(classes: Any = ("well", "ill"), *, weights: Any = None, positive: Any = None) -> ByClass:
    """The nine examples: four of the second class."""
    known, w = np.array(classes), np.ones(9) if weights is None else weights
    found = by_class(known, known[TRUTH], [known[BEFORE], known[AFTER]], w, 0.95, positive)
    assert found is not None
    return found


def test_mistakes_of_both_kinds_by_hand() -> None:
    """Of four ill one was missed, now two: rows 6 and 7 are lost, row 8 is found. Of five well, one and two alarms."""
    found = compared()
    assert found.sensitivity is not None
    assert found.specificity is not None
    assert (found.sensitivity.name, found.specificity.name) == ("ill", "well")
    assert [(r.count, r.of) for r in found.missed] == [(1, 4), (2, 4)]
    assert [(r.count, r.of) for r in found.alarms] == [(1, 5), (2, 5)]
    assert [(r.count, r.of) for r in (*found.missed_of_all, *found.alarms_of_all)] == [(1, 9), (2, 9), (1, 9), (2, 9)]
    assert (found.lost, found.found) == (2, 1)
    assert found.first == ()
    assert [row[1:3] for row in found.rows()] == [
        ("75.0\xa0% (19.4 to 99.4)", "50.0\xa0% (6.8 to 93.2)"),
        ("80.0\xa0% (28.4 to 99.5)", "60.0\xa0% (14.7 to 94.7)"),
    ]
    assert "missed for 222 (28 to 600), before 111 (3 to 482)" in found.notes[0]


def test_intervals_are_exact() -> None:
    """Clopper and Pearson: 1 of 4 is 0.6 % to 80.6 %, 2 of 4 is 6.8 % to 93.2 %; 0 of 4 ends at 1 - 0.025^(1/4)."""
    missed = compared().missed
    assert (missed[0].low, missed[0].high) == pytest.approx((0.00631, 0.80588), abs=1e-5)
    assert (missed[1].low, missed[1].high) == pytest.approx((0.06759, 0.93241), abs=1e-5)
    none = by_class(np.array([0, 1]), TRUTH, [TRUTH], np.ones(9), 0.95)
    assert none is not None
    assert (none.missed[0].low, none.missed[0].high) == pytest.approx((0, 1 - 0.025 ** (1 / 4)))
    assert none.rows()[0][1:] == ("100.0\xa0% (39.8 to 100.0)",)


def test_weights_count() -> None:
    """Row 8, the one that was missed before, has half of the weight of the ill, so that by weight the well are rarer."""
    weights = np.array([1.0] * 8 + [3.0])
    rarer, found = compared(weights=weights), compared(weights=weights, positive="ill")
    assert rarer.sensitivity is not None
    assert rarer.sensitivity.name == "well"
    assert [r.share for r in found.missed] == pytest.approx([0.5, 2 / 6])


def test_the_positive_class_is_the_rarer_or_the_one_named() -> None:
    """Four of nine are of the second class, which is said; with three classes one must be named, and is told from all others."""
    assert "“ill”, the rarer of two classes" in compared().choice
    assert "--positive well" in compared().choice
    well = compared(positive="well")
    assert well.sensitivity is not None
    assert (well.sensitivity.name, well.missed[1].count, well.choice) == ("well", 2, "")
    assert compared(("well", "ill", "unsure")).sensitivity is None
    assert [row[0] for row in compared(("well", "ill", "unsure")).rows()] == ["“ill” found, of 4", "“well” found, of 5"]
    one = compared(("well", "ill", "unsure"), positive="ill")
    assert one.specificity is not None
    assert one.specificity.name == "not ill"
    for positive, message in (("sick", "none of the classes"), ("unsure", "no examples have it")):
        with pytest.raises(InvalidInputError, match=message):
            compared(("well", "ill", "unsure"), positive=positive)


def judged(truth: list[str], before: list[str], after: list[str]) -> ByClass:
    """Two models on these examples."""
    found = by_class(np.unique(truth), np.array(truth), [np.array(before), np.array(after)], np.ones(len(truth)), 0.95)
    assert found is not None
    return found


def test_one_answer_for_everybody_comes_first() -> None:
    """A saving then says nothing, for two classes and for three, also where the model before was no better."""
    truth = ["well"] * 20 + ["ill"] * 3
    found = judged(truth, truth, ["well"] * 23)
    assert found.only == (None, "well")
    assert found.first == (
        "This answers “well” for everybody; a saving says nothing.",
        "Of the 3 examples that are “ill”, none is found; before, 3.",
    )
    assert judged(truth, ["well"] * 23, ["well"] * 23).first[0] == found.first[0]
    three = judged([*truth, "unsure"], [*truth, "unsure"], ["well"] * 24)
    assert len(three.first) == 3
    assert judged(["ill", "well"], ["ill", "well"], ["ill", "well"]).first == ()
    alone = by_class(np.array(["ill", "well"]), np.array(["well"] * 4), [np.array(["well"] * 4)], np.ones(4), 0.95)
    assert alone is not None
    assert (alone.first, alone.sensitivity) == ((), None)


def test_a_class_found_less_often_comes_first_beyond_chance() -> None:
    """Six lost of ten, and none gained: the sign test has p = 0.031; five lost have p = 0.063, which chance explains."""
    truth = ["well"] * 20 + ["ill"] * 10
    lost = {k: judged(truth, truth, ["well"] * 20 + ["well"] * k + ["ill"] * (10 - k)).first for k in (5, 6)}
    assert lost[5] == ()
    assert lost[6][0].startswith("“ill” is found less often than before: 4 of 10, before 10 (")
    assert judged(truth, ["well"] * 26 + ["ill"] * 4, truth).first == ()
