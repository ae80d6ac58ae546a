"""The same on a real Ray cluster of two workers on this machine, one of which is killed.

Skipped, with the reason shown, where Ray is not installed (``pip install "prunemodels[ray]"``). Starting it takes longer than
what is tested, so these run with ``make test-slow``; what does not need Ray is tested in the other files.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from formulations import InvalidInputError, SolverFailedError
from solvers import price_sharing
from solvers.cluster import ShardedPricing, ray_workers, sharded_price_sharing, tree_recipes
from solvers.cluster.ray_workers import RayWorkers
from solvers.column_generation import decompose
from tests.solvers.cases import instance, lambdas
from tests.solvers.cluster.parted import joined, recipes_of
from tests.solvers.cluster.test_price_sharing import assert_as_whole

ray = pytest.importorskip("ray", reason='Ray is not installed: pip install "prunemodels[ray]"')

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("ray"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),
]
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Two cores for two workers."""
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    yield
    ray.shutdown()


class Killing(RayWorkers):
    """Kills the process of a worker while its n-th call is under way."""

    worker, at = 0, -1

    def submit(self, i: int, method: str, args: tuple[Any, ...]) -> Any:
        call = super().submit(i, method, args)
        if i == self.worker and self.at >= 0:
            self.at -= 1
            if self.at < 0:
                os.kill(self.process_of(i), signal.SIGKILL)
        return call


@pytest.mark.parametrize("name", ["digits", "breast cancer, licence"])
def test_a_killed_worker_changes_nothing(name: str, cluster: None) -> None:
    """Killed during a round, and again while splits are being fixed: started again each time, and the optimum is the whole's."""
    problem = instance(name)
    with Killing(recipes_of(problem, 2)) as workers:
        sharded = joined(problem, workers)
        for lam in lambdas(name)[2:3]:
            undisturbed = sharded_price_sharing(sharded, lam, small_core=0)
            assert_as_whole(problem, undisturbed, lam, small_core=0)
            assert undisturbed.stats["workers_lost"] == 0
            for worker, at in ((0, 3), (1, 14)):
                workers.worker, workers.at = worker, at
                before = workers.process_of(worker)
                found = sharded_price_sharing(sharded, lam, small_core=0)
                assert found.stats["workers_lost"] == 1
                assert workers.process_of(worker) != before
                assert (found.value, found.bound) == (undisturbed.value, undisturbed.bound)
                np.testing.assert_array_equal(found.kept, undisturbed.kept)
        processes = [workers.process_of(i) for i in range(2)]
    assert_gone(processes)


def assert_gone(processes: list[int]) -> None:
    """Processes end within a few seconds."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(_alive(p) for p in processes):
        time.sleep(0.1)
    assert not any(_alive(p) for p in processes)


def _alive(process: int) -> bool:
    """Whether a process runs; one that has ended and waits to be collected does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_trees_on_ray_price_the_same_columns(cluster: None) -> None:
    """Dantzig-Wolfe with its trees on two actors makes the same run, a killed actor included."""
    problem, lam = instance("iris"), lambdas("iris")[2]
    local = decompose(problem, lam)
    with Killing(tree_recipes(problem, 2)) as workers:
        workers.worker, workers.at = 1, 2
        found = decompose(problem, lam, pricing=ShardedPricing(workers))
        assert workers.lost <= 1
        assert (found.solution.value, found.solution.bound) == (local.solution.value, local.solution.bound)
        assert found.history["bound"].tolist() == local.history["bound"].tolist()


def test_what_goes_wrong_at_a_worker_is_said_here(cluster: None) -> None:
    """A source that fails raises its own error; one that kills its process ends in an error, not in a loop; cores are counted."""
    problem = instance("iris")
    bad = recipes_of(problem, 2)
    bad[1].args[0].X[3, 2] = np.inf  # type: ignore[attr-defined]
    with pytest.raises(InvalidInputError, match=r"part 1\[3, 2\] is infinite"):
        ray_workers(bad)
    with pytest.raises(SolverFailedError, match="worker 0 was lost 2 times in a row"):
        ray_workers([_suicide], restarts=1)
    with pytest.raises(InvalidInputError, match="3 parts claim 1 cores each, the cluster has 2"):
        ray_workers(recipes_of(problem, 3))
    with ray_workers(recipes_of(problem, 3), cpus=0.5) as workers:
        found = sharded_price_sharing(joined(problem, workers), 0.02)
    assert found.on(problem).value == price_sharing(problem, 0.02).value


def _suicide() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


INTERRUPTED = """
import sys
from solvers.cluster import ray_workers, sharded_price_sharing
from tests.solvers.cases import instance
from tests.solvers.cluster.parted import joined, recipes_of
problem = instance("digits")
with ray_workers(recipes_of(problem, 2), cpus=0.5) as workers:
    print(*(workers.process_of(i) for i in range(2)), flush=True)
    sharded = joined(problem, workers)
    while True:
        sharded_price_sharing(sharded, 0.002, small_core=0)
"""


def test_ctrl_c_ends_ray_too() -> None:
    """A script that started Ray itself is interrupted: it says so, and no process stays behind."""
    script = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with script:
        assert script.stdout is not None
        assert script.stderr is not None
        workers = [int(p) for p in script.stdout.readline().split()]
        assert len(workers) == 2, script.stderr.read()
        time.sleep(1.0)
        script.send_signal(signal.SIGINT)
        _, error = script.communicate(timeout=60)
    assert "interrupted while sharing prices" in error
    assert script.returncode != 0
    assert_gone(workers)
