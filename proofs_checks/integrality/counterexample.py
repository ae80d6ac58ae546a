"""The papers' counterexample, step by step: IP1's relaxation has a fractional vertex, IP3's has none (NWS15, section 4).

With rows a_k x >= b_k tight at the point x*, any y > 0 and c = sum of y_k a_k over them,

    c x  >=  sum of y_k b_k  =  c x*      for all feasible x, and equal only where all these rows are tight,           (1)

If the tight rows have full rank, that is at x* alone, so each vertex is the only optimum of some objective; that of a small data
set is one of them. The check takes nothing but the paper's text and that data set as given.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from formulations.shown import WIDTH
from proofs_checks.integrality.points import VertexCertificate, rank_of, vertex_certificate
from proofs_checks.integrality.polyhedron import Face, Polyhedron
from proofs_checks.integrality.printed import (
    ACTIVE,
    POINT,
    ROWS,
    UNIMODULAR_ROWS,
    UNIMODULAR_VARIABLES,
    VARIABLES,
    data_set,
    face_text,
    linear,
    lines_of,
    papers_name,
    parse,
)
from proofs_checks.integrality.reading import read_polyhedron
from proofs_checks.integrality.vertices import Vertices, vertices
from proofs_checks.matrices.violation import Number, determinant
from proofs_checks.total_unimodularity import check_total_unimodularity
from proofs_checks.verdict import Verdict, aligned


@dataclass(frozen=True, eq=False)
class Claim:
    """One sentence of an argument, and its evidence."""

    sentence: str  # what is found, as a sentence
    holds: bool | None  # True, False, or None where it was not decided
    lines: tuple[str, ...] = ()  # what to print below it: a computation or a table
    evidence: Mapping[str, Any] = field(default_factory=dict)  # the same as data: numbers and fractions by name


@dataclass(frozen=True, eq=False)
class Argument:
    """A title and its steps."""

    title: str  # what is argued
    steps: tuple[Claim, ...]  # in their order

    @property
    def holds(self) -> bool | None:
        """True where all steps hold, False where one does not, else None."""
        found = [step.holds for step in self.steps]
        return False if False in found else None if None in found else True

    def __str__(self) -> str:
        """The title, and the steps numbered; a step that fails or is open says so."""
        parts = [textwrap.fill(self.title, WIDTH)]
        for k, step in enumerate(self.steps, 1):
            number = f"{k}. "
            word = {True: "", False: "NOT SO: ", None: "NOT DECIDED: "}[step.holds]
            parts.append(
                textwrap.fill(
                    f"{number}{word}{step.sentence}", WIDTH, subsequent_indent=" " * len(number), break_long_words=False
                )
            )
            parts += [f"     {line}".rstrip() for line in step.lines]
        return "\n".join(parts)


TITLE = "NWS15, section 4: tree 1, one example, which goes to leaf 4; the relaxation of (IP1) has fractional vertices."
METHOD = "the paper's rows, all vertices, exact fractions"

Coefficients = dict[str, Number]


@dataclass(frozen=True, eq=False)
class _Case:
    """A polytope with its vertices, in the papers' names."""

    body: Polyhedron
    names: list[str]
    corners: Vertices

    @classmethod
    def of(cls, body: Polyhedron) -> _Case:
        """Enumerate the vertices."""
        return cls(body, _names(body), vertices(body))

    def values(self, objective: Mapping[str, Number]) -> list[Fraction]:
        """Coefficients at every vertex; variables that it does not name cost nothing."""
        cost = [objective.get(name, 0) for name in self.names]
        return [Fraction(sum(c * x for c, x in zip(cost, v.numerators, strict=True))) / v.denominator for v in self.corners]

    def best_integral(self, objective: Mapping[str, Number]) -> Fraction:
        """The least value at integral vertices."""
        return min(v for v, integral in zip(self.values(objective), self.corners.is_integral, strict=True) if integral)


def check_counterexample(naive: Any, unimodular: Any) -> Verdict:
    """Verify the papers' counterexample, one step after the other.

    Parameters
    ----------
    naive, unimodular
        IP1 and IP3 on the papers' tree 1, with our names for the columns; `proofs_checks.integrality.reading.read_polyhedron`
        says what is taken.

    Returns
    -------
    Verdict
        certificate: `Argument`, which prints as text.

    Examples
    --------
    >>> import prunemodels as pm
    >>> tree = pm.datasets.two_trees().only_tree(0)
    >>> naive, unimodular = (pm.programs.FORMULATIONS[name](tree, lam=1, relax=True) for name in ("IP1", "IP3"))
    >>> verdict = pm.checks.check_counterexample(naive, unimodular)
    >>> verdict.holds
    True
    >>> print(verdict.certificate.steps[1].sentence)
    The point z1 = 0, z2 = 1, z3 = 1/2, z4 = 1/2, z5 = 1/2, w1 = 1/2, w2 = 1/2 fulfils all rows and bounds.
    """
    claim = "(IP1) has fractional vertices where (IP3) has none: the papers' counterexample"
    weak, strong = read_polyhedron(naive), read_polyhedron(unimodular)
    steps = [_rows_step("The relaxation of (IP1)", weak, ROWS, VARIABLES)]
    if steps[0].holds:
        steps += _naive_steps(_Case.of(weak))
        steps.append(_rows_step("The relaxation of (IP3) on the same tree", strong, UNIMODULAR_ROWS, UNIMODULAR_VARIABLES))
        if steps[-1].holds:
            objectives = [step.evidence["objective"] for step in steps if "objective" in step.evidence]
            steps.append(_strong_step(_Case.of(weak), _Case.of(strong), objectives))
            steps += _matrix_steps(weak, strong)
    argument = Argument(TITLE, tuple(steps))
    return Verdict(claim, argument.holds, METHOD, argument)


def _naive_steps(case: _Case) -> Iterator[Claim]:
    """All steps about IP1, once its rows are known to be the paper's."""
    certificate = vertex_certificate(case.body, case.body.point([POINT[name] for name in case.names]))
    yield _feasible_step(case, certificate)
    yield from _vertex_steps(case, certificate)
    arbitrary = _objective_of(case, certificate.tight)
    by_1 = (
        "Where all tight inequalities are tight, their sum is least, and they are so at this point alone, by their rank. "
        f"So minimise the sum of their normals, {linear(arbitrary)}"
    )
    yield _only_optimum(case, arbitrary, by_1, ())
    objective, sentence, rows = data_set()
    yield _only_optimum(case, objective, sentence, _lines(rows))


def _lines(rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    return tuple(aligned(rows, left=3))


def _names(body: Polyhedron) -> list[str]:
    """The papers' names of the columns; our name where the papers have none."""
    return [papers_name(name) or name for name in body.columns]


def _rows_step(what: str, body: Polyhedron, text: Sequence[str], variables: Sequence[str]) -> Claim:
    """Claim: the rows are the printed ones, one for one."""
    names = _names(body)
    ours, printed = lines_of(body, names), [parse(line) for line in text]
    places = [[str(body.rows[k]) for k, row in enumerate(ours) if row == line] for line in printed]
    more = [f"{body.rows[k]}: {row}" for k, row in enumerate(ours) if row not in printed]
    box = [name for name, low, high in zip(names, body.lower, body.upper, strict=True) if (low, high) != (0, 1)]
    holds = all(len(found) == 1 for found in places) and not more and not box and sorted(names) == sorted(variables)
    lines = _lines([(line, ", ".join(found) or "missing") for line, found in zip(text, places, strict=True)])
    lines += tuple(f"not in the paper: {row}" for row in more)
    if box:
        lines += (f"not between 0 and 1: {', '.join(box)}",)
    sentence = (
        f"{what} has the {len(text)} rows of the paper, and no other, in the {len(variables)} variables {', '.join(variables)} "
        "between 0 and 1."
    )
    evidence = {"rows": dict(zip(text, places, strict=True)), "not in the paper": more, "variables": names}
    return Claim(sentence, holds, lines, evidence)


def _feasible_step(case: _Case, certificate: VertexCertificate) -> Claim:
    """Claim: the point is feasible."""
    point = ", ".join(f"{name} = {certificate.point.value(j)}" for j, name in enumerate(case.names))
    values = {name: certificate.point.value(j) for j, name in enumerate(case.names)}
    wrong = () if certificate.violated is None else (str(certificate.violated),)
    return Claim(f"The point {point} fulfils all rows and bounds.", certificate.feasible, wrong, {"point": values})


def _vertex_steps(case: _Case, certificate: VertexCertificate) -> Iterator[Claim]:
    """Steps: the tight rows and their rank; the fractional coordinates."""
    tight, n = certificate.tight, certificate.dimension
    text = [face_text(case.body, case.names, face) for face in tight]
    listed = {_key(line) for line in ACTIVE}
    papers = tuple(face for face, line in zip(tight, text, strict=True) if _key(line) in listed)
    places = [[face.place for face in papers if face.is_bound == bound] for bound in (False, True)]
    papers_rank = rank_of(case.body, *places)[0]
    rest = [line for line in text if _key(line) not in listed]
    also = f"The paper lists {len(ACTIVE)} of them" + (f"; {', '.join(rest)} is tight as well. " if rest else ". ")
    sentence = (
        f"{len(tight)} rows and bounds are tight there, of rank {certificate.rank} (the paper's {len(ACTIVE)}: rank "
        f"{papers_rank}) in {n} variables, so the point is a vertex. {also}"
    )
    holds = certificate.feasible and certificate.rank == papers_rank == n and len(papers) == len(ACTIVE)
    marks = ["listed in the paper" if face in papers else "not listed" for face in tight]
    kinds = [f"{'bound of' if face.is_bound else 'row'} {face.name}" for face in tight]
    rows = _lines(list(zip(text, kinds, marks, strict=True)))
    evidence = {"tight": text, "not listed": rest, "rank": certificate.rank, "rank of the listed": papers_rank, "variables": n}
    yield Claim(sentence.strip(), holds, rows, evidence)
    broken = {case.names[int(j)]: certificate.point.value(int(j)) for j in certificate.point.fractional}
    count = len(case.corners) - int(case.corners.is_integral.sum())
    sentence = (
        f"{len(broken)} of its coordinates are fractional, so (IP1) is no integral formulation: of all {len(case.corners)} "
        f"vertices {count} are fractional."
    )
    yield Claim(sentence, bool(broken), (), {"fractional": broken, "vertices": len(case.corners), "fractional vertices": count})


def _key(text: str) -> tuple[Any, ...]:
    """A printed row as terms and bound. The sense is dropped: a tight row holds with equality."""
    line = parse(text)
    bound = line.upper if line.lower == -np.inf else line.lower
    return line.terms, bound


def _objective_of(case: _Case, tight: tuple[Face, ...]) -> Coefficients:
    """(1) with y = 1: the sum of the normals of the tight inequalities. Equations would only add a constant."""
    objective: Coefficients = dict.fromkeys(case.names, 0)
    for face in tight:
        if face.sense != "=":
            sign = 1 if face.sense == ">=" else -1
            entries = {face.place: 1} if face.is_bound else case.body.row(face.place)
            for j, x in entries.items():
                objective[case.names[j]] += sign * x
    return objective


def _only_optimum(case: _Case, objective: Coefficients, sentence: str, lines: tuple[str, ...]) -> Claim:
    """Claim: of all vertices, the point alone has the least value of the objective."""
    values = sorted(zip(case.values(objective), case.corners, strict=True), key=lambda pair: pair[0])
    (least, point), (second, _) = values[:2]
    is_papers_point = {name: point.value(j) for j, name in enumerate(case.names)} == POINT
    integral = case.best_integral(objective)
    found = (
        f"{sentence}. The point has the value {least} and is the only optimum: the next best vertex has "
        f"{second}, the best integral one {integral}, so the relaxation is {integral - least} too low."
    )
    evidence = {"objective": objective, "value": least, "next best vertex": second, "integral optimum": integral}
    return Claim(found, is_papers_point and least < second and least < integral, lines, evidence)


def _strong_step(naive: _Case, strong: _Case, objectives: list[Coefficients]) -> Claim:
    """Claim: all vertices of IP3 are integral, and its relaxation has the integral optimum of the same objectives."""
    fractional = len(strong.corners) - int(strong.corners.is_integral.sum())
    found = [(min(strong.values(c)), naive.best_integral(c)) for c in objectives]
    holds = len(strong.corners) > 0 and not fractional and all(least == integral for least, integral in found)
    values = " and ".join(str(least) for least, _ in found)
    sentence = (
        f"(IP3) has {len(strong.corners)} vertices, "
        f"{fractional or 'none'} of them fractional. For "
        f"{'these objectives' if len(found) > 1 else 'this objective'} its relaxation has the optimum {values}, the integral one."
    )
    evidence = {
        "vertices": len(strong.corners),
        "fractional vertices": fractional,
        "optima": [least for least, _ in found],
        "integral optima": [integral for _, integral in found],
    }
    return Claim(sentence, holds, (), evidence)


def _matrix_steps(naive: Polyhedron, unimodular: Polyhedron) -> Iterator[Claim]:
    """Steps: a submatrix, its determinant computed again, shows that IP1's matrix is not totally unimodular; IP3's is."""
    weak, strong = (_check_matrix(body) for body in (naive, unimodular))
    found, value, shown = weak.certificate, None, str(weak.certificate)
    if weak.holds is False:
        rows = [naive.row(i) for i in found.rows]
        value = determinant([[row.get(j, 0) for j in found.columns] for row in rows])
    holds = None if weak.holds is None else value is not None and value not in (-1, 0, 1)
    sentence = "The matrix of (IP1) is not totally unimodular: this square submatrix has a determinant other than -1, 0 and 1."
    evidence = {"determinant": value, "submatrix": shown, "method": weak.method}
    yield Claim(sentence, holds, tuple(shown.splitlines()), evidence)
    sentence = (
        "The matrix of (IP3) is totally unimodular, so that all vertices are integral whatever whole numbers its right-hand "
        "sides are (Hoffman and Kruskal 1956)."
    )
    yield Claim(
        sentence, strong.holds, (str(strong.certificate),), {"certificate": str(strong.certificate), "method": strong.method}
    )


def _check_matrix(body: Polyhedron) -> Verdict:
    """The verdict on the constraint matrix, with the papers' names of variables and the printed text of each row."""
    names = _names(body)
    return check_total_unimodularity(body.matrix([str(line) for line in lines_of(body, names)], names))
