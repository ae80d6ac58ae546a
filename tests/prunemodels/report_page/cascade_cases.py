"""A cascade of three stages on eight rows, all figures of which can be worked out by hand, and what a page's tables say.

Stage s predicts 1 where its column says more than 0.5. A row doubts if that is within 0.25 of 0.5, and who doubts goes on.

    row    age  pressure  scan  y      stops at   predicts
    0      0.9   0.9      0.9   1      0          1
    1      0.1   0.1      0.1   0      0          0
    2      0.95  0.2      0.1   0      0          1  wrong; the last stage is right
    3      0.5   0.9      0.9   1      1          1
    4      0.4   0.1      0.2   1      1          0  wrong, as the last stage
    5      0.6   0.6      0.9   1      2          1
    6      0.5   0.4      0.2   0      2          0
    7      0.6   0.5      0.8   0      2          1  wrong, as the last stage

Age is free, pulse and pressure share the item "visit" for 2, the scan costs 5 and a licence of 4 once for all.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

import prunemodels as pm
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.forest_exits import cascade_of
from prunemodels.cascades.learning import ExitSample, LearnedExits, exit_problem
from prunemodels.stages.doubt import MarginDoubt
from prunemodels.stages.judging import lost
from prunemodels.stages.policy import ExitPolicy, levels
from prunemodels.stages.set_stages import SetStages
from prunemodels.stages.stages import table_of
from solvers.path.closure_path import closure_path

ROWS = pd.DataFrame(
    {
        "age": [0.9, 0.1, 0.95, 0.5, 0.4, 0.6, 0.5, 0.6],
        "pulse": [0.0] * 8,
        "pressure": [0.9, 0.1, 0.2, 0.9, 0.1, 0.6, 0.4, 0.5],
        "scan": [0.9, 0.1, 0.1, 0.9, 0.2, 0.9, 0.2, 0.8],
    }
)
TRUTH = np.array([1, 0, 0, 1, 1, 1, 0, 0])
ITEMS = pm.CostItems.from_items(
    {"nothing": 0, "visit": 2, "scan": 5, "licence": 4},
    [["nothing"], ["visit"], ["visit"], ["scan", "licence"]],
    once=["licence"],
)
THETA = np.array([[-np.inf, 0.5], [-np.inf, 0.5]])


@dataclass
class Column:
    """A model that says what its last column holds."""

    feature_names_in_: list[str]
    classes_: ClassVar = np.array([0, 1])

    def fit(self, X: Any, y: Any) -> Column:
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        said = np.asarray(X)[:, -1].astype(float)
        return np.column_stack([1 - said, said])


def stages() -> SetStages:
    """Age; pulse and pressure with it; and the scan."""
    read = [np.arange(1), np.arange(3), np.arange(4)]
    return SetStages(tuple(Column(list(ROWS.columns[r])) for r in read), tuple(read), ITEMS, np.array([0, 1]))


def hand_path() -> pm.cascades.ExitPath:
    """All policies for the levels "surely" (1) and "in doubt" (2), learned from the eight rows."""
    table = table_of(stages(), ROWS)
    said = np.array([MarginDoubt()(s, stages().output(s, ROWS), None) for s in (0, 1)])
    loss, everyone = lost(table.value, TRUTH), np.ones(8, dtype=bool)
    sample = ExitSample(said, table.cost, table.once, loss, loss, np.ones(8), everyone)
    fitted = pm.CascadeClassifier(stages(), doubt="margin", random_state=0).fit(ROWS, TRUTH).exit_path_
    learned = LearnedExits(MarginDoubt(), THETA, closure_path(exit_problem(sample, levels(said, THETA), 2)))
    return replace(fitted, learned=learned, sample=sample)


def hand_cascade() -> Cascade:
    """Who doubts goes on: a policy that is none of the optimal ones."""
    cascade = cascade_of(hand_path()).at_row(0)
    cascade.policy_ = ExitPolicy(MarginDoubt(), THETA, np.array([[False, False, True], [False, False, True]]))
    cascade.row_, cascade.cost_, cascade.error_ = None, 7.125, 0.375
    return cascade


def cells(page: str, caption: str) -> list[list[str]]:
    """The rows of a table below its header, as plain text, by the id of its caption."""
    found = re.search(rf'<caption id="{caption}-caption">.*?</table>', page, re.DOTALL)
    assert found, caption
    rows = re.findall("<tr>(.*?)</tr>", found.group(), re.DOTALL)[1:]
    rows = [row.replace('<span class="users">', " / ") for row in rows]
    plain = [[re.sub("<[^>]*>", "", cell) for cell in re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]
    return [[html.unescape(cell).replace("\u00a0", " ") for cell in row] for row in plain]


def paragraph(page: str, number: int) -> str:
    """A paragraph as plain text."""
    found = re.findall("<p(?: [^>]*)?>(.*?)</p>", page)[number]
    return html.unescape(re.sub("<[^>]*>", "", found)).replace("\u00a0", " ")
