"""What the benchmarks' tables claim beyond seconds, on tiny instances; the benchmark of real numbers finds what is wrong."""

from __future__ import annotations

import os
from argparse import Namespace
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import prunemodels as pm
from benchmarks import instances, measuring, naive, real_numbers
from benchmarks.confidence import ALPHA, POPULATIONS, share_too_low, weighted_table
from benchmarks.default_forest import JOBS, left
from benchmarks.real_numbers import PRICES, WEIGHTS, ExactOptima, figures, minimum_cut, summary
from benchmarks.start_up import PACKAGES, runs
from formulations.errors import CapacityOverflowError
from formulations.instance.papers import two_trees
from solvers import min_cut
from tests.instances import Node, problem_of, random_problem
from tests.loops import looped
from tests.solvers.cases import OPTIMA, instance


@pytest.mark.slow
def test_work_apart_is_done_in_another_process() -> None:
    """Its answer comes back, and so does its error."""
    assert measuring.apart(os.getpid) != os.getpid()
    with pytest.raises(pm.errors.BrokenFileError, match="nothing"):
        measuring.apart(instances.train, "nothing", 0, Path("nowhere"))


@pytest.mark.slow
def test_ip3_is_exact_and_ip1_a_weak_bound() -> None:
    """IP3's vertices are integral and worth the optimum; IP1 is never above it, nearly always below, and closed by branching."""
    quick = [*instances.random_instances(quick=True), *instances.shipped_instances(quick=True)]
    pairs = pd.DataFrame(naive.pairs_of(quick, limit=60.0))
    assert len(pairs) >= 10
    assert not pairs["ip3_fractional"].any()
    assert pairs["ip3_gap"].abs().max() < 1e-9
    assert pairs["ip1_gap"].min() > -1e-9
    assert pairs["no_integral_optimum"].mean() >= 0.8
    assert pairs["ip1_fractional"][pairs["no_integral_optimum"]].all()
    tried = pairs.dropna(subset=["mip_s"])
    assert len(tried) == pairs["instance"].nunique()
    assert (tried["mip_closed"] == 1).all()
    told = naive.table(pairs, 60.0).splitlines()
    assert told[2] == "| instances; pairs with a lambda | 4; 10 | 1; 2 |"
    assert told[5].startswith("| **IP3's relaxation has a fractional vertex** | 0 of 10 |")


@pytest.mark.slow
def test_students_bound_misses_its_level_where_few_rows_are_dear() -> None:
    """It is near 10 % for even costs and far above for few dear rows; betting keeps the level for both."""
    t, betting = ({name: share_too_low(name, method, 100, 400) for name in POPULATIONS} for method in ("t", "betting"))
    assert t["few are dear"] > 2 * ALPHA > t["even"]
    assert max(betting.values()) <= ALPHA


@pytest.mark.slow
def test_intervals_of_weighted_means_hold_more_often_than_they_did() -> None:
    """For all weights and effective numbers of rows at least as often as with n - 1 degrees of freedom, for some more often."""
    shares = [[float(cell.strip(" %")) for cell in line.split("|")[4:6]] for line in weighted_table(40).splitlines()[2:]]
    before, now = np.array(shares).T
    assert (now >= before).all()
    assert now.mean() > before.mean()


def test_every_job_answers_its_question() -> None:
    """At its lambda, on the whole path with a certificate, within its budget."""
    problem, given = instance("iris"), Namespace(lam=0.01, budget=1)
    at, path, within = (job(problem, given) for job in JOBS.values())
    assert (at.lam, path.certificate is None, within.cost <= 1) == (0.01, False, True)  # type: ignore[attr-defined]


def test_nothing_with_arcs_is_lost() -> None:
    """Each group has the arcs of one split at most, so that as many have arcs after the reduction as before, or fewer."""
    counts = left(instance("breast cancer, licence"))
    assert counts["groups with arcs"] <= counts["groups"] <= counts["splits"]
    assert 0 < counts["groups with arcs"] <= counts["with arcs"]


@pytest.mark.slow
@pytest.mark.parametrize(("job", "most"), [("path", 23), ("serve, stopping early", 5)])
def test_first_runs_compile_no_more_than_today(job: str, most: int) -> None:
    """Each kernel once, and nothing of numba's own.

    A kernel that makes an array, takes a minimum or is given arrays of two kinds brings functions more, each a tenth of a second
    or more of every user's first run.
    """
    _, kernels, _ = runs(job)
    names = [name for _, name in kernels]
    assert names
    assert [name for name in names if name.split(".")[0] not in PACKAGES] == []
    assert len(names) == len(set(names)) <= most


def test_cuts_by_hand() -> None:
    """What is cut is what splits earn and do not keep, what they lose, and what they buy."""
    assert minimum_cut({0: 3}, [-1], {(0,): 2}) == 2
    assert minimum_cut({0: 3}, [-1], {(0,): 5}) == 3
    assert minimum_cut({0: -1, 1: 4}, [-1, 0], {(1,): 2}) == 3  # 1 lost, 2 paid
    assert minimum_cut({0: -3, 1: 4}, [-1, 0], {(1,): 2}) == 4  # not worth it
    assert minimum_cut({0: 3, 1: 3}, [-1, -1], {(0, 1): 4, (1,): 1}) == 5  # together they pay 4
    assert minimum_cut({0: 2, 1: 2}, [-1, -1], {(0, 1): 2, (0,): 2}) == 4  # what 0 paid first, 1 has to pay
    huge = 10**40
    assert minimum_cut({0: 3 * huge, 1: huge + 1}, [-1, 0], {(0,): huge, (1,): huge}) == 2 * huge
    assert minimum_cut({}, [], {}) == 0


@looped("seed", range(20))
def test_the_exact_optimum_is_that_of_the_cut(seed: int) -> None:
    """On instances of whole numbers, where `min_cut` is exact: evaluation, shared items, items paid once, negative gains."""
    problem = random_problem(seed)
    optima = ExactOptima(problem)
    for lam in [0.0, *(float(b) * share for b in pm.pruning_path(problem).breakpoints[1:] for share in (0.4, 1.0))]:
        found = min_cut(problem, lam)
        assert found.pruning is not None
        assert optima.off(found.pruning.kept, lam, optima.at(lam)) == 0
        nothing = np.zeros(problem.ensemble.n_nodes, dtype=bool)
        roots = problem.errors.of_all_roots(problem.ensemble)
        best = optima.at(lam)
        more = (roots - best) / best if best else roots
        assert optima.off(nothing, lam, best) == pytest.approx(float(more), rel=1e-9, abs=1e-12)


def test_instances_have_the_numbers_that_they_are_told_by() -> None:
    """Balanced weights count each class alike, survey weights have four decimals, prices are whole, cents, or any number."""
    data, rng = real_numbers.grown("classification", 200), np.random.default_rng(0)
    balanced = WEIGHTS["balanced"](data, rng)
    assert balanced is not None
    totals = [balanced[data.y == k].sum() for k in np.unique(data.y)]
    assert len(totals) == 3
    assert np.allclose(totals, 200 / 3)
    survey = WEIGHTS["survey"](data, rng)
    assert survey is not None
    assert np.array_equal(survey, survey.round(4))
    assert np.unique(survey).size > 12
    assert sorted(PRICES["1 to 10"](rng)) == [float(p) for p in range(1, 11)]
    cents = np.array(PRICES["cents"](rng)) * 100
    assert np.allclose(cents, cents.round(), rtol=1e-12)
    assert len([*real_numbers.instances("regression", 20)]) == len(PRICES) * len(WEIGHTS) == 12


def stumps() -> pm.PruningProblem:
    """Two stumps that gain 0.2 and 0.1 for a price of 1 each."""
    trees = [Node(6, 0, 0.5, Node(1), Node(1)), Node(6, 1, 0.5, Node(2), Node(2))]
    return problem_of(trees, [1, 1], np.zeros((3, 2)))


def test_what_is_right_has_no_difference() -> None:
    """On an instance of whole numbers path, lambdas and budgets agree."""
    found = figures(stumps, 3)
    assert (found["refused"], found["states"], found["apart"], found["off"]) == (0, 0, 0, 0)
    assert (found["optimal"], found["lambdas"], found["budgets_optimal"], found["budgets"]) == (2, 2, 3, 3)


def test_what_is_wrong_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path without its middle, a solve that keeps nothing, and budgets that are ignored."""
    problem, path = stumps(), pm.pruning_path(stumps())
    coarse = replace(path, problem=problem, level=np.minimum(path.level, 1), breakpoints=path.breakpoints[:2])
    found = real_numbers.at_lambdas(problem, coarse, 3)
    assert found["off"] > 0.1 < found["apart"]
    ask = pm.solve

    def lazy(problem: Any, *, lam: Any = None, budget: Any = None) -> Any:
        if lam is None:
            return ask(problem, budget=[0.0 for _ in budget])
        nothing = pm.Pruning.all_roots(problem)
        return replace(ask(problem, lam=lam), pruning=nothing, value=nothing.error)

    monkeypatch.setattr(real_numbers.pm, "solve", lazy)
    found = real_numbers.at_lambdas(problem, path, 3)
    assert found["off"] > 0.1 < found["apart"]
    with pytest.raises(pm.errors.SolverFailedError, match="a breakpoint errs"):
        real_numbers.within_budgets(problem, path)
    monkeypatch.setattr(real_numbers.pm, "solve", lambda problem, budget: ask(problem, budget=[100.0 for _ in budget]))
    with pytest.raises(pm.errors.SolverFailedError, match="and cost 2"):
        real_numbers.within_budgets(problem, path)


def test_the_table_has_the_worst_of_each_size() -> None:
    """What was refused is counted, and leaves the others alone."""

    def refused() -> pm.PruningProblem:
        raise CapacityOverflowError("1 and 2")

    rows = [{"rows": n, **figures(build, 2)} for n, build in ((50, stumps), (50, stumps), (1000, refused))]
    rows[0]["apart"] = 0.25
    cells = dict(line.strip("| ").split(" | ", 1) for line in summary(pd.DataFrame(rows)).splitlines())
    assert cells["cost rows"] == "50 | 1,000"
    assert (cells["refused"], cells["path - solve"]) == ("0 | 1", "0.25 | -")
    assert cells["budgets proven optimal"] == "6 of 6 | 0 of 0"


def test_optima_by_hand() -> None:
    """See `tests.solvers.cases.OPTIMA`: with evaluation, with weights, and with a price that is paid twice."""
    for name in ("stump, evaluation", "stump, half weight", "twin stumps", "losing splits"):
        for lam in (lam for known, lam in OPTIMA if known == name):
            assert float(ExactOptima(instance(name)).at(lam)) == pytest.approx(OPTIMA[name, lam], rel=1e-15)
    assert ExactOptima(two_trees()).at(0.0) == Fraction(1, 8)  # the papers' trees: at no price all splits are kept
