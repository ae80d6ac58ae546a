"""What requests take: fees add up, the slowest of a round counts."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from formulations.errors import InvalidInputError

TESTS = pm.CostItems.from_items(
    {"age": 0, "blood": 7, "scan": 90, "licence": 5}, [["age"], ["blood"], ["scan"]], once=["licence"]
)


def test_a_round_asks_each_supplier_once_and_waits_for_the_slowest() -> None:
    """Laboratory 0.02 and 80, radiology 1 and 300: both together 1.02 and 300; what is at hand takes nothing."""
    supplier = {"blood": "laboratory", "scan": "radiology"}
    calls = TESTS.with_requests({"laboratory": 0.02, "radiology": 1}, {"laboratory": 80, "radiology": 300}, supplier=supplier)
    bought = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 1, 0]], dtype=bool)
    assert calls.requests is not None
    asked = calls.requests.asked(bought)
    assert asked.tolist() == [[False, False], [True, False], [True, True]]
    assert calls.requests.fee(asked).tolist() == [0, 0.02, 1.02]
    assert calls.requests.latency(asked).tolist() == [0, 80, 300]


def test_by_default_one_supplier_has_all_that_has_a_price() -> None:
    """Items without a price, and those that are paid once for all rows, are at hand; without fees asking takes nothing."""
    one = TESTS.with_requests(0.5, 80).requests
    assert one is not None
    assert one.supplier == (-1, 0, 0, -1)
    assert one.fees == (Fraction(1, 2),)
    assert TESTS.requests is None
    assert TESTS.asking.supplier == one.supplier
    assert not any(TESTS.asking.fees)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fee": -1}, "costs: the fee of 'supplier' is -1, negative"),
        (
            {"latency": {"radiology": 3}},
            "costs: latency has 'radiology', which supplies nothing; the suppliers are ('supplier',)",
        ),
        ({"supplier": {"MRI": "radiology"}}, "costs: supplier has the item 'MRI', which has no price"),
        ({"supplier": {"licence": "laboratory"}}, "costs: 'licence' is paid once for all rows, so no row asks for it"),
    ],
)
def test_requests_that_cannot_be_are_refused(options: dict[str, Any], message: str) -> None:
    """Each message names the culprit."""
    with pytest.raises(InvalidInputError, match=re.escape(message)):
        TESTS.with_requests(**options)
