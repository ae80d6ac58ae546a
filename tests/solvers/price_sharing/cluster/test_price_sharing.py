"""Price sharing with parted rows: the answers of the whole, bit for bit, whoever is lost."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations import InterruptedSolveError, InvalidInputError, NodeErrors, PruningProblem, Status
from proofs_checks import check_solution
from solvers import price_sharing
from solvers.closures.integer_objective import integer_objective
from solvers.price_sharing import Scores, final_scores
from solvers.price_sharing.cluster import (
    LocalWorkers,
    ShardedProblem,
    ShardedSolution,
    array_parts,
    shard_recipes,
    sharded_price_sharing,
)
from solvers.price_sharing.cluster.row_shard import RowShard
from solvers.price_sharing.cluster.sharded_rows import ShardedRows, sharded_objective
from solvers.price_sharing.params import SharingParams
from solvers.price_sharing.remaining import all_open
from solvers.price_sharing.rows import LocalRows
from solvers.price_sharing.run import Known, Run
from solvers.price_sharing.shares import SMALLEST_WEIGHT, Sharing
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import instance, lambdas
from tests.solvers.price_sharing.cluster.parted import Unreliable, joined, parted, recipes_of

LAMBDAS = (0, 0.003, 0.02, 0.1, 1e300)


def assert_as_whole(problem: PruningProblem, found: ShardedSolution, lam: float, **options: Any) -> None:
    """The same pruning, value and bound as of the engine that has all rows, and a proof that a stranger accepts."""
    alone = price_sharing(problem, lam, **options)
    answer = found.on(problem)
    np.testing.assert_array_equal(answer.pruning.kept, alone.pruning.kept)
    assert answer.value == alone.value
    assert check_solution(problem, answer).holds
    assert found.cost == alone.pruning.exact_cost
    assert float(found.error) == pytest.approx(float(alone.pruning.exact_error), rel=1e-12, abs=1e-12)
    if problem.numbers.exact:
        assert found.error == alone.pruning.exact_error
        assert answer.bound == alone.bound
        assert float(found.bound) == pytest.approx(alone.bound, rel=1e-12, abs=1e-12)
        assert found.bound <= found.value
        assert found.status is Status.OPTIMAL


@pytest.mark.slow
@looped("seed", range(16))
def test_parted_rows_have_the_optimum_of_the_whole(seed: int) -> None:
    """Pruning, value and bound are the whole's, for both extreme optima, with all that an instance can have, real errors too."""
    problem = random_problem(seed, rounded=seed % 4 == 0, whole_prices=True)
    sharded = parted(problem, 1 + seed % 3)
    for lam in LAMBDAS:
        for ties in ("smallest", "largest"):
            found = sharded_price_sharing(sharded, lam, ties=ties, small_core=0)  # type: ignore[arg-type]
            assert_as_whole(problem, found, lam, ties=ties, small_core=0)


@pytest.mark.parametrize("in_parts", [False, True])
@looped("seed", range(12))
def test_whole_charges_never_exceed_the_prices(seed: int, in_parts: bool) -> None:
    """The integers charged are at most the exact shares of the scores, recomputed in fractions, for wild scores too. Each shard
    rounds down by itself, so its sums are lower by some more.
    """
    problem = random_problem(seed)
    at, is_open = integer_objective(problem, Fraction(1, 7)).refined(), np.array(problem.ensemble.is_split)
    if in_parts:
        sharded = parted(problem, 3)
        at = sharded_objective(sharded, Fraction(1, 7))
        sharded.shards.tell(1, RowShard.open, at.item_price, is_open)
    left = all_open(at, is_open)
    arcs = problem.usage.arcs()
    price = integer_objective(problem, Fraction(1, 7)).refined().prices(np.arange(problem.usage.n_purchases, dtype=np.int32))
    rng = np.random.default_rng(seed)
    for spread in (0.0, 1.0, 30.0, 800.0):
        score = (rng.standard_normal(left.nodes.size) * spread).astype(np.float32)
        with ThreadPoolExecutor(1) as pool:
            charged = Sharing(left, pool, SharingParams(most_bytes=64_000_000 * (spread > 1.0))).integer_charges(score)
        charged = charged + sum(sharded.workers.ask("integer_charges", score)) if in_parts else charged
        highest, lowest = (float(x) for x in (score.max(initial=-math.inf), score.min(initial=math.inf)))
        high = max((highest + lowest) / 2, highest + math.log(SMALLEST_WEIGHT))
        weight = {int(h): Fraction(math.exp(float(s) - high)) for h, s in zip(left.nodes, score, strict=True)}
        total = np.zeros(problem.usage.n_purchases, dtype=object)
        for h, j in zip(arcs.tail.tolist(), arcs.head.tolist(), strict=True):
            total[j] += weight[h]
        for k, h in enumerate(left.nodes.tolist()):
            mine = arcs.head[arcs.tail == h].tolist()
            share = sum((int(price[j]) * weight[h] / total[j] for j in mine if total[j]), Fraction(0))
            assert 0 <= charged[k] <= share
            assert spread > 100 or charged[k] >= share * (1 - Fraction(1, 2**40)) - (4 if in_parts else 1)


@pytest.mark.slow
def test_a_worker_may_be_lost_at_any_call() -> None:
    """Whichever worker is lost, at whatever call: it is rebuilt, the call repeated, and the answer the same."""
    problem, lam = instance("iris"), lambdas("iris")[2]
    reliable = Unreliable(recipes_of(problem, 2), set())
    expected = sharded_price_sharing(joined(problem, reliable), lam, small_core=0)
    assert expected.certificate.stages
    tells = {"set_weight_unit", "open", "fix"}
    for call in range(1, reliable.calls[0] + 1):
        for i in range(2):
            workers = Unreliable(recipes_of(problem, 2), {(call, i)})
            found = sharded_price_sharing(joined(problem, workers), lam, small_core=0)
            np.testing.assert_array_equal(found.kept, expected.kept)
            assert (found.value, found.bound) == (expected.value, expected.bound)
            assert workers.lost == 1
            # asked again: what had changed the shard until then, and the call that was lost
            before = [m for j, m in reliable.asked if j == i][: call - 1]
            assert workers.calls[i] == reliable.calls[i] + 1 + sum(m in tells for m in before)
            assert workers.calls[1 - i] == reliable.calls[1 - i]


def test_a_worker_lost_again_and_again_is_an_error() -> None:
    """After the last restart in a row the worker is named, with what to look at; restarts that are apart do not add up."""
    problem, lam = instance("iris"), lambdas("iris")[2]
    whole_life = {(c, 1) for c in range(6, 100)}
    with pytest.raises(Exception, match=r"worker 1 was lost 3 times in a row .*told to die.*memory") as error:
        sharded_price_sharing(joined(problem, Unreliable(recipes_of(problem, 2), whole_life, restarts=2)), lam, small_core=0)
    assert type(error.value).__name__ == "SolverFailedError"
    apart = Unreliable(recipes_of(problem, 2), {(5, 0), (9, 0), (14, 1), (15, 0)}, restarts=1)
    found = sharded_price_sharing(joined(problem, apart), lam, small_core=0)
    assert apart.lost == found.stats["workers_lost"] == 4
    assert_as_whole(problem, found, lam, small_core=0)


def test_an_interrupted_run_leaves_the_workers_usable(tmp_path: Path) -> None:
    """Ctrl-C while shards are being told what is fixed: some know, some do not, and the next run is right all the same."""
    problem, lam = instance("digits"), lambdas("digits")[2]
    sharded = parted(problem, 3)
    shard = sharded.workers.objects[1]  # type: ignore[attr-defined]

    def interrupt(kept: Any, out: Any) -> None:
        raise KeyboardInterrupt

    shard.fix = interrupt
    file = tmp_path / "run.scores"
    with pytest.raises(InterruptedSolveError, match=r"interrupted while sharing prices$"):  # there is no file yet
        sharded_price_sharing(sharded, lam, small_core=0, checkpoint=file)
    sharded_price_sharing(sharded, lam, small_core=0, rounds=9, checkpoint=file)
    with pytest.raises(InterruptedSolveError, match=r"interrupted while sharing prices; .*run\.scores holds"):
        sharded_price_sharing(sharded, lam, small_core=0, checkpoint=file)
    del shard.fix
    assert_as_whole(problem, sharded_price_sharing(sharded, lam, small_core=0), lam, small_core=0)
    with sharded.workers:
        pass
    assert sharded.workers.objects == [None] * 3  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["digits", "breast cancer, licence", "breast cancer, discounts", "iris, weights"])
def test_a_run_begins_with_what_is_known(name: str) -> None:
    """With splits known and prunings to try, a run over parted rows begins as the one over all rows, and both go on alike.
    Charges of driver and shards, in two threads each, add up to those of the whole.
    """
    in_two_threads = SharingParams(one_thread_arcs=0)
    problem, rate = instance(name), Fraction(1, 200)
    best = price_sharing(problem, 0.005).pruning
    top, deep = problem.ensemble.parent < 0, problem.ensemble.depth > 2
    known = Known(best.kept & top, problem.ensemble.is_split & ~best.kept & deep, (best.kept & top, best.kept))
    workers = LocalWorkers(recipes_of(problem, 3, threads=2))
    for shard in workers.objects:
        shard.params = in_two_threads
    sharded = joined(problem, workers)
    with ThreadPoolExecutor(1) as pool:
        alone = Run(LocalRows(integer_objective(problem, rate).refined(), pool, in_two_threads), "smallest", None, known)
        run = Run(ShardedRows(sharded, sharded_objective(sharded, rate), pool), "smallest", None, known)
        for _ in range(2):
            for name_of_number in ("base", "n_arcs", "margin"):
                assert getattr(run.rows, name_of_number) == getattr(alone.rows, name_of_number), name_of_number
            assert run.rows.cut_bytes == (85 + 24) * alone.rows.n_arcs  # arcs are gathered before they are cut
            assert run.best_value == alone.best_value
            assert run.bound == pytest.approx(alone.bound, rel=1e-12)  # driver and shards round down separately
            np.testing.assert_array_equal(run.best_kept, alone.best_kept)
            for _ in range(10):
                run.round()
                alone.round()
            run.check()
            alone.check()
        run.finish()
        alone.finish()
    assert run.best_value == alone.best_value
    np.testing.assert_array_equal(run.best_kept, best.kept)
    np.testing.assert_array_equal(run.decided()[0], alone.decided()[0])


def test_rounded_errors_leave_a_margin() -> None:
    """Where errors were rounded twice what that hides is kept between bound and value; a split in that margin is not fixed."""
    problem, lam = instance("diabetes"), Fraction(repr(lambdas("diabetes")[2]))
    sharded = parted(problem, 3)
    fixed = []
    with ThreadPoolExecutor(1) as pool:
        for widened in (0, 2**62):
            rows = ShardedRows(sharded, sharded_objective(sharded, lam), pool)
            lost = 2 * Fraction(sharded.error_rounding)
            assert 0 < lost <= rows.margin * rows.objective.unit < lost + 2 * rows.objective.unit
            rows.margin += widened
            run = Run(rows, "smallest")
            for _ in range(30):
                run.round()
            run.check()
            fixed.append(len(run.stages))
    assert fixed == [1, 0]


def test_a_checkpoint_is_of_all_rows(tmp_path: Path) -> None:
    """The fingerprint has each row's leaves and weight: not how the rows are divided, but which rows they are."""
    problem, X, costs = instance("digits"), np.asarray(instance("digits").X), instance("digits").costs
    weights = np.where(np.arange(len(X)) % 2, 1.0, 2.0)

    def parts(rows: NDArray[Any], omega: NDArray[np.float64], n: int) -> ShardedProblem:
        workers = LocalWorkers(shard_recipes(problem.ensemble, costs, array_parts(rows, n, omega)))
        return ShardedProblem.build(problem.ensemble, problem.errors, workers, costs)

    lam, file = lambdas("digits")[2], tmp_path / "run.scores"
    sharded_price_sharing(parts(X, weights, 2), lam, rounds=10, small_core=0, checkpoint=file)
    sharded_price_sharing(parts(X, weights, 3), lam, rounds=10, small_core=0, checkpoint=file)
    # the same weights on other rows, and one row twice in place of another
    for rows, omega in ((X, weights[::-1]), (X[[0, 0, *range(2, len(X))]], weights)):
        with pytest.raises(InvalidInputError, match="belongs to another instance"):
            sharded_price_sharing(parts(rows, omega, 2), lam, rounds=10, small_core=0, checkpoint=file)


def test_scores_go_on(tmp_path: Path) -> None:
    """A checkpoint is gone on from, and scores of the whole start a parted run."""
    problem, lam = instance("digits"), lambdas("digits")[2]
    sharded, file = parted(problem, 2), tmp_path / "run.scores"
    first = sharded_price_sharing(sharded, lam, rounds=10, small_core=0, checkpoint=file)
    assert first.stats["iterations"] == 10
    again = sharded_price_sharing(sharded, lam, small_core=0, checkpoint=file)
    assert again.stats["iterations"] > 10
    assert again.certificate.iteration == again.stats["iterations"]
    assert_as_whole(problem, again, lam, small_core=0)
    start: Scores = final_scores(price_sharing(problem, lam, small_core=0))
    warm = sharded_price_sharing(sharded, lam, small_core=0, start=start)
    assert_as_whole(problem, warm, lam, small_core=0)


def test_bad_questions_are_refused() -> None:
    """A negative lambda, and an instance that is not the parts' are named."""
    problem = instance("iris")
    sharded = parted(problem, 2)
    with pytest.raises(InvalidInputError, match="lam is -1"):
        sharded_price_sharing(sharded, -1)
    found = sharded_price_sharing(sharded, 0.02)
    other = NodeErrors(tuple(replace(c, weight=2 * c.weight) for c in problem.errors.components))
    for wrong in (instance("digits"), replace(problem, errors=other)):
        with pytest.raises(InvalidInputError, match="give the instance of all parts, in their order"):
            found.on(wrong)
    assert repr(sharded).endswith("40 cost rows on 2 workers)")
