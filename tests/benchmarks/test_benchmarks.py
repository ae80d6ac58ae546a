"""What the benchmarks' tables claim beyond seconds, on tiny instances."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import prunemodels as pm
from benchmarks import instances, measuring, naive, votes
from benchmarks.confidence import ALPHA, POPULATIONS, share_too_low, weighted_table
from benchmarks.default_forest import JOBS, left
from benchmarks.start_up import PACKAGES, runs
from tests.solvers.cases import instance


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
    """Paths with and without the reduction are the same; only those that say so have a certificate."""
    problem, given = instance("iris"), Namespace(lam=0.01, budget=1)
    answers = {name: job(problem, given) for name, job in JOBS.items()}
    paths = {name: path for name, path in answers.items() if isinstance(path, pm.PruningPath)}
    assert len({path.breakpoints for path in paths.values()}) == 1
    assert [name for name, path in paths.items() if path.certificate is not None] == [n for n in paths if "certificate" in n]


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


@pytest.mark.slow
def test_votes_are_compared_with_the_likelier_class(monkeypatch: pytest.MonkeyPatch) -> None:
    """One number for each split and budget: a gain in points, or NaN where the vote is left."""
    monkeypatch.setattr(votes, "SHARES", (0.2,))
    monkeypatch.setattr(votes, "SPLITS", 1)
    assert len(votes.gains("breast_cancer")) == 1
