"""What a cluster costs on paper, and that its constants are what they are called."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks import cluster
from benchmarks.cluster_estimate import HEPMASS, Constants, Shape, cluster_estimate
from benchmarks.cluster_rounds import Canned, Events, Exchange, Timed
from solvers.price_sharing.cluster import shard_recipes
from tests.solvers.cases import instance

ROUND = Constants(
    arc=1e-9, checks=3, route=1e-8, empty=1e-3, call=1e-2, out=1e-9, into=2e-9, adding=1e-8, tree=1e-7, process=5e8, network=1e9
)
SMALL = Shape(trees=10, splits=1000, nodes=2010, items=7, features=5, arcs=100)


def test_an_estimate_worked_by_hand() -> None:
    """Two million rows on 20 workers: every term of (1) to (7) on paper."""
    e = cluster_estimate(2e6, 20, ROUND, SMALL)
    assert e.work == pytest.approx(1e5 * 100 * 1e-9)  # 0.01
    each = 1e-2 + 1000 * (4e-9 + 16e-9 + 12e-9 + 1e-8)  # 0.010042: a call, and 42 ns a split
    assert e.exchange == pytest.approx(1e-3 + 20 * each)
    assert e.trees == pytest.approx(1e-4)
    assert e.round == pytest.approx(0.01 + 0.20184 + 0.0001)
    assert e.check == pytest.approx(3 * 0.01 + 2 * 0.20184 + 5e-4)
    assert e.start == pytest.approx(1e5 * 10 * 1e-8)
    assert e.bytes_a_round == 12 * 1000 * 20
    assert e.memory == 1e5 * (60 + 24 + 7) + 2 * 8 * 2010 + 5e8  # 1e5 rows are two blocks
    assert e.reading == e.memory + 1e5 * 20
    assert e.balance == pytest.approx(math.sqrt(2e6 * 100 * 1e-9 / each))
    assert e.efficiency == pytest.approx(e.work / e.round)
    assert e.run(20, 2) == pytest.approx(e.start + 20 * e.round + 2 * e.check)


def test_workers_help_up_to_the_balance() -> None:
    """At W* a worker's pass takes as long as what W multiplies in the exchange, and no other number makes a round shorter."""
    best = cluster_estimate(1e9, 1, ROUND, HEPMASS).balance
    rounds = [cluster_estimate(1e9, w, ROUND, HEPMASS).round for w in range(1, int(3 * best))]
    assert abs(1 + int(np.argmin(rounds)) - best) <= 1
    at = cluster_estimate(1e9, round(best), ROUND, HEPMASS)
    assert at.work == pytest.approx(at.exchange - ROUND.empty, rel=1e-2)


def test_an_estimate_without_workers_is_refused() -> None:
    """So are more workers than rows."""
    for workers in (0, 11):
        with pytest.raises(ValueError, match=f"workers is {workers}; 10 rows"):
            cluster_estimate(10, workers, ROUND)


def test_constants_come_from_their_measurements() -> None:
    """A call costs the slope over the number of workers, a byte what a vector adds to an empty round of two workers."""
    empty = {1: 0.003, 2: 0.005, 4: 0.009, 8: 0.017}  # 1 ms and 2 ms a worker
    n = HEPMASS.splits
    lengths = [Exchange(10, 0.005, 0.005), Exchange(n, 0.005 + 8e-9 * n, 0.005 + 48e-9 * n), Exchange(10**7, 9.0, 9.0)]
    worker = {"arc": 1.0, "checks": 2.0, "route": 3.0, "process": 4.0}
    found = cluster.constants_of(empty, lengths, worker, {"adding": 5.0, "tree": 6.0}, 7.0)
    assert (found.empty, found.call) == (pytest.approx(0.001), pytest.approx(0.002))
    assert (found.out, found.into) == (pytest.approx(1e-9), pytest.approx(3e-9))
    assert (found.arc, found.checks, found.route, found.process) == (1, 2, 3, 4)
    assert (found.adding, found.tree, found.network) == (5, 6, 7)
    nothing = cluster.constants_of(empty, [replace(lengths[0], n=n, out=0.0, into=0.0)], worker, {"adding": 5, "tree": 6}, 7)
    assert (nothing.out, nothing.into) == (0, 0)


def test_the_driver_is_measured_with_answers_at_hand() -> None:
    """Canned workers answer with the charges of a real shard, as often as there are workers; a timed shard is one."""
    problem = instance("iris")
    assert [a.tolist() for a in Canned(np.arange(3.0), 4).ask("charges")] == [[0.0, 1.0, 2.0]] * 4
    recipe = shard_recipes(problem.ensemble, problem.costs, [lambda: np.asarray(problem.X)])[0]
    timed = Timed(recipe)
    assert timed.facts().n_rows == 40
    assert timed.seconds_of("facts") > 0
    assert Events(30, 1)().shape == (30, 28)
