"""The counterexample of NWS15, section 4, as its text prints it (tree 1, one example, which goes to leaf 4), and data for it.

    z1 .. z5      whether node h is a leaf of the pruned tree
    w1, w2        whether the example pays for features 1 and 2: w_{1,1} and w_{2,1} in the paper

The rows are kept as text and read from it, so that they can be compared with the page letter by letter.

The paper's point is the only optimum for some data set: training rows of two classes fall into leaves 2, 4 and 5; e_h counts
those below h outside their majority class. With n rows, prices c_1, c_2 and lambda = 1 / n,

    n (error + lambda * cost)  =  sum_h e_h z_h  +  c_1 w1 + c_2 w2                                                (1)
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from proofs_checks.integrality.polyhedron import Face, Polyhedron, Sense
from proofs_checks.matrices.violation import Number

VARIABLES = ("z1", "z2", "z3", "z4", "z5", "w1", "w2")

ROWS = ("z1 + z3 + z4 = 1", "z1 + z3 + z5 = 1", "z1 + z2 = 1", "w1 >= z4", "w1 >= z3", "w2 >= z4")
"""The LP relaxed constraints, beside 0 <= z <= 1; 0 <= w <= 1 is (IP1)'s w in {0, 1}, relaxed."""

UNIMODULAR_VARIABLES = ("z1", "z2", "z3", "z4", "z5", "w1^(1)", "w2^(1)", "w1", "w2")

UNIMODULAR_ROWS = (*ROWS[:3], "w1^(1) + z1 = 1", "w2^(1) + z1 + z3 = 1", "w1 >= w1^(1)", "w2 >= w2^(1)")
"""(IP3) on the same tree: the example meets feature 1 first at node 1, feature 2 at node 3."""

POINT: Mapping[str, Fraction] = {
    "z1": Fraction(0),
    "z2": Fraction(1),
    **dict.fromkeys(("z3", "z4", "z5", "w1", "w2"), Fraction(1, 2)),
}
"""The basic feasible solution."""

ACTIVE = ("z1 + z3 + z4 = 1", "z1 + z3 + z5 = 1", "w1 >= z4", "w1 >= z3", "w2 >= z4", "z1 = 0", "z2 = 1")
"""The set of 7 constraints that are active."""

_OURS = re.compile(r"(?P<kind>z|w|w_t)\[(?P<key>\d+(,\d+)*)\]")


@dataclass(frozen=True)
class PrintedRow:
    """One row, lower <= sum of coefficient * variable <= upper, turned so that the first coefficient is positive."""

    terms: tuple[tuple[str, Number], ...]
    lower: Number | float
    upper: Number | float

    @classmethod
    def of(cls, coefficients: Mapping[str, Number], lower: Any, upper: Any) -> PrintedRow:
        """A row with its terms in the order of the names, times -1 where the first coefficient is negative."""
        terms = tuple(sorted((name, x) for name, x in coefficients.items() if x))
        if terms and terms[0][1] < 0:
            return cls(tuple((name, -x) for name, x in terms), -upper, -lower)
        return cls(terms, lower, upper)

    def __str__(self) -> str:
        equal = self.lower == self.upper
        bound = self.upper if equal or self.lower == -np.inf else self.lower
        return relation(dict(self.terms), "=" if equal else "<=" if self.lower == -np.inf else ">=", bound)


def parse(text: str) -> PrintedRow:
    """A printed row as a `PrintedRow`: sums of names and whole numbers on both sides of =, >= or <=."""
    left, sense, right = re.split(r"\s*(>=|<=|=)\s*", text)
    coefficients: dict[str, Number] = {}
    bound = 0
    for side, sign in ((left, 1), (right, -1)):
        for term in side.split(" + "):
            if term.isdecimal():
                bound -= sign * int(term)
            else:
                coefficients[term] = coefficients.get(term, 0) + sign
    return PrintedRow.of(coefficients, -np.inf if sense == "<=" else bound, np.inf if sense == ">=" else bound)


def papers_name(name: str) -> str | None:
    """The papers' name of a column of ours: z[2] is z3, w[0,0] is w1, w_t[2,1,0] is w2^(1); None for any other."""
    found = _OURS.fullmatch(name)
    if found is None:
        return None
    key = [int(k) for k in found["key"].split(",")]
    kind = (found["kind"], len(key))
    if kind == ("z", 1):
        return f"z{key[0] + 1}"
    if kind == ("w", 2) and key[1] == 0:
        return f"w{key[0] + 1}"
    return f"w{key[1] + 1}^(1)" if kind == ("w_t", 3) and key[2] == 0 else None


def lines_of(body: Polyhedron, names: list[str]) -> list[PrintedRow]:
    """The rows of a polyhedron in the papers' names."""
    return [
        PrintedRow.of({names[j]: x for j, x in body.row(k).items()}, body.row_lower[k], body.row_upper[k])
        for k in range(len(body.rows))
    ]


def face_text(body: Polyhedron, names: list[str], face: Face) -> str:
    """A tight row or bound as the paper would write it."""
    if face.is_bound:  # the paper calls a tight bound z1 = 0
        return f"{names[face.place]} = {face.bound}"
    return relation({names[j]: x for j, x in body.row(face.place).items()}, face.sense, face.bound)


def relation(coefficients: Mapping[str, Number], sense: Sense, bound: Any) -> str:
    """A row as text: ``w1 >= z4`` for  z4 - w1 <= 0.  Terms change sides only where the bound is 0."""
    if bound == 0 and sense == "<=":
        coefficients, sense = {name: -x for name, x in coefficients.items()}, ">="
    negative = {name: -x for name, x in coefficients.items() if x < 0}
    if bound == 0 and negative and len(negative) < len(coefficients):
        return f"{linear({name: x for name, x in coefficients.items() if x > 0})} {sense} {linear(negative)}"
    return f"{linear(coefficients)} {sense} {bound}"


def linear(coefficients: Mapping[str, Number]) -> str:
    """A linear expression as text: ``2 z1 - z3 + 1/2 w1``."""
    text = ""
    for name, x in coefficients.items():
        if x:
            size = "" if abs(x) == 1 else f"{abs(x)} "
            text += (" - " if x < 0 else " + ") + size + name
    return ("-" + text[3:] if text.startswith(" - ") else text[3:]) or "0"


LEAF_COUNTS: Mapping[int, tuple[int, int]] = {2: (1, 0), 4: (1, 0), 5: (0, 2)}
"""The data set of (1): rows of class A and of class B at the leaves of tree 1 of Figure 1, the fewest that do; prices are 1."""


def data_set() -> tuple[dict[str, Number], str, list[tuple[str, str]]]:
    """The objective (1) of that data set by variable, a sentence, and the counts and errors as rows of a table."""
    classes = dict(LEAF_COUNTS)
    for h, (left, right) in ((3, (4, 5)), (1, (2, 3))):
        classes[h] = classes[left][0] + classes[right][0], classes[left][1] + classes[right][1]
    n, errors = sum(classes[1]), {h: min(classes[h]) for h in sorted(classes)}
    objective: dict[str, Number] = {**{f"z{h}": e for h, e in errors.items()}, "w1": 1, "w2": 1}
    sentence = (
        f"Data can produce such an objective: {n} training rows of two classes, prices 1 and 1 of features 1 and 2, "
        f"lambda = 1/{n}. Times {n}, minimise {linear(objective)}"
    )
    rows = [(f"leaf {h}", f"{a} of class A, {b} of class B") for h, (a, b) in LEAF_COUNTS.items()]
    return objective, sentence, [*rows, ("errors", ", ".join(f"e{h} = {e}" for h, e in errors.items()))]
