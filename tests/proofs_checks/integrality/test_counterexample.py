"""The papers' counterexample: each step is found, and what is not the paper's is not accepted."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from formulations.instance.papers import two_trees
from formulations.programs.linear_program import LinearProgram
from formulations.programs.matrix import MATRICES
from proofs_checks.integrality.counterexample import Argument, check_counterexample
from proofs_checks.integrality.printed import ACTIVE, PrintedRow, linear, papers_name, parse, relation
from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.matrices.violation import submatrix
from proofs_checks.verdict import Verdict

TREE = two_trees().only_tree(0)


def program(name: str) -> LinearProgram:
    """A formulation's relaxation on tree 1."""
    return MATRICES[name](TREE, lam=1, relax=True)


@pytest.fixture(scope="module")
def argument() -> Argument:
    """All steps on the true programs."""
    verdict = check_counterexample(program("IP1"), program("IP3"))
    assert verdict.holds
    found = verdict.certificate
    assert isinstance(found, Argument)
    return found


@pytest.mark.slow
def test_every_step_holds(argument: Argument) -> None:
    """Ten steps, numbered, none failed; the text uses the papers' names and 1/2."""
    text = str(argument)
    assert [step.holds for step in argument.steps] == [True] * 10
    assert [int(line.split(".")[0]) for line in text.splitlines() if line[:1].isdigit()] == [*range(1, 11)]
    assert "z1 = 0, z2 = 1, z3 = 1/2" in text
    assert "NOT" not in text
    assert max(len(line) for line in text.splitlines() if not line.startswith("path ")) <= 105  # a path has all its arcs


def test_tight_rows_are_eight_of_rank_seven(argument: Argument) -> None:
    """The paper's seven are among them and have full rank; z1 + z2 = 1 is the eighth."""
    evidence = argument.steps[2].evidence
    assert len(evidence["tight"]) == 8
    assert evidence["not listed"] == ["z1 + z2 = 1"]
    assert evidence["rank"] == evidence["rank of the listed"] == evidence["variables"] == 7
    fractional = argument.steps[3].evidence
    assert set(fractional["fractional"]) == {"z3", "z4", "z5", "w1", "w2"}
    assert (fractional["vertices"], fractional["fractional vertices"]) == (9, 2)


def test_the_data_set_is_an_instance(argument: Argument) -> None:
    """Its errors, prices and lambda as a `PruningProblem`: the relaxation of IP1 is 3/8, every engine's optimum 1/2."""
    evidence = argument.steps[5].evidence
    objective = evidence["objective"]
    errors = {h: float(objective.get(f"z{h}", 0)) for h in range(1, 13)}
    prices = (objective["w1"], objective["w2"], 1)
    problem = two_trees(errors, prices, weight=4.0).only_tree(0)
    assert pm.programs.solve_relaxation(problem, 0.25, formulation="IP1").objective == pytest.approx(float(evidence["value"]) / 4)
    assert pm.engines.min_cut(problem, 0.25).value == float(evidence["integral optimum"]) / 4
    assert pm.programs.solve_relaxation(problem, 0.25, formulation="IP3").objective == pytest.approx(0.5)


@pytest.mark.parametrize("row", ["z5 = 0", "w1 >= z4"])
def test_the_papers_list_must_be_tight_and_enough(monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    """Were a row of the paper's list not tight, or listed twice so that six are left, the step about the vertex would fail."""
    listed = (*ACTIVE[:-1], row)
    monkeypatch.setattr("proofs_checks.integrality.counterexample.ACTIVE", listed)
    assert [step.holds for step in check_counterexample(program("IP1"), program("IP3")).certificate.steps[:4]] == [
        True,
        True,
        False,
        True,
    ]


def test_other_programs_are_refused() -> None:
    """A coefficient, a bound, a row or a variable that is not the paper's refutes the step of the rows, which says where."""
    true = program("IP1")
    entry = true.matrix.copy()
    entry.data[0] = 2.0
    wider = true.upper.copy()
    wider[5] = 2.0
    less = replace(true, matrix=true.matrix[:5], row_lower=true.row_lower[:5], row_upper=true.row_upper[:5], rows=true.rows[:5])
    twice = [0, 1, 2, 3, 4, 5, 5]
    more = replace(
        true,
        matrix=true.matrix[twice],
        row_lower=true.row_lower[twice],
        row_upper=true.row_upper[twice],
        rows=[true.rows[k] for k in twice],  # type: ignore[arg-type]
    )
    looser = more.row_upper.copy()
    looser[-1] = 0.5
    wrong = {
        "not in the paper: naive_usage[3,1,0]: w2 - z4 >= -1/2": replace(more, row_upper=looser),
        "not in the paper: leaf[1]: 2 z1 + z2 = 1": replace(true, matrix=entry),
        "not between 0 and 1: w1": replace(true, upper=wider),
        "w2 >= z4          missing": less,
        "naive_usage[3,1,0], naive_usage[3,1,0]": more,
        "z1 + z3 + z4 = 1  missing": MATRICES["IP1"](two_trees().only_tree(1), lam=1, relax=True),
    }
    for message, tampered in wrong.items():
        verdict = check_counterexample(tampered, program("IP3"))
        assert verdict.holds is False
        assert message in str(verdict.certificate), message
        assert "1. NOT SO: " in str(verdict.certificate)
        assert len(verdict.certificate.steps) == 1


def test_another_program_is_not_ip3() -> None:
    """IP1 in place of IP3, or a coupling row turned, refutes the step about IP3's rows; the steps before stand."""
    true = program("IP3")
    turned = true.row_lower.copy(), true.row_upper.copy()
    turned[0][-1], turned[1][-1] = 0.0, np.inf
    for wrong in (program("IP1"), replace(true, row_lower=turned[0], row_upper=turned[1])):
        verdict = check_counterexample(program("IP1"), wrong)
        assert verdict.holds is False
        assert [step.holds for step in verdict.certificate.steps] == [True] * 6 + [False]


@pytest.mark.parametrize("holds", [True, None])
def test_a_matrix_that_is_not_refuted_leaves_its_step_open(monkeypatch: pytest.MonkeyPatch, holds: bool | None) -> None:
    """Were IP1's matrix found unimodular, or not decided, the argument would say so; a determinant of 1 refutes nothing."""
    answer = Verdict("the matrix is totally unimodular", holds, "by hand", "nothing found")
    monkeypatch.setattr("proofs_checks.integrality.counterexample.check_total_unimodularity", lambda matrix: answer)
    found = check_counterexample(program("IP1"), program("IP3"))
    assert found.certificate.steps[8].holds is (False if holds else None)
    assert ("9. NOT SO: " if holds else "9. NOT DECIDED: ") in str(found.certificate)
    assert bool(found) is False

    def harmless(matrix: Any) -> Verdict:
        return Verdict("the matrix is totally unimodular", False, "by hand", submatrix(read_matrix(matrix), [0], [0]))

    monkeypatch.setattr("proofs_checks.integrality.counterexample.check_total_unimodularity", harmless)
    assert check_counterexample(program("IP1"), program("IP3")).certificate.steps[8].holds is False


def test_rows_are_read_as_they_are_printed() -> None:
    """Sums and constants on either side; a row and its negative are one row, its reverse is another."""
    assert parse("z1 + z2 = 1") == PrintedRow((("z1", 1), ("z2", 1)), 1, 1)
    assert parse("1 = z1 + z2") == parse("z1 + z2 = 1")
    assert parse("w1 >= z4") == parse("z4 <= w1") == PrintedRow((("w1", 1), ("z4", -1)), 0, np.inf)
    assert parse("w1 <= z4") != parse("w1 >= z4")
    assert parse("z4 >= w1") == PrintedRow.of({"z4": 1, "w1": -1}, 0, np.inf) == PrintedRow.of({"z4": -1, "w1": 1}, -np.inf, 0)
    for text in ("w1 >= z4", "z1 + z3 + z4 = 1", "z1 <= 1", "w2^(1) + z1 + z3 = 1"):
        assert str(parse(text)) == text


def test_expressions_as_a_person_writes_them() -> None:
    """Coefficients 1 and 0 are not written, fractions are, and a minus in front stands alone."""
    assert linear({"z1": 2, "z2": -1, "z3": 0, "w1": Fraction(1, 2)}) == "2 z1 - z2 + 1/2 w1"
    assert linear({"z1": -1, "z2": 1}) == "-z1 + z2"
    assert linear({"z1": 0}) == "0"
    assert relation({"z4": 1, "w1": -1}, "<=", 0) == "w1 >= z4"
    assert relation({"z4": 1, "w1": -1}, "=", 0) == "z4 = w1"
    assert relation({"z4": 1, "w1": -1}, "<=", 2) == "z4 - w1 <= 2"
    assert relation({"z4": -1}, ">=", 0) == "-z4 >= 0"


def test_papers_names() -> None:
    """Nodes and features count from 1 there; what the paper has no name for has none."""
    names = ["z[2]", "w[0,0]", "w_t[2,1,0]", "w[0,1]", "w_t[2,1,1]", "y[0]", "z[1,2]", "w[0]"]
    assert [papers_name(name) for name in names] == ["z3", "w1", "w2^(1)", None, None, None, None, None]
