"""The benchmark of scikit-learn's default forest: every job runs, and what is left is counted."""

from __future__ import annotations

from argparse import Namespace

import prunemodels as pm
from benchmarks.default_forest import JOBS, left
from tests.solvers.cases import instance


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
