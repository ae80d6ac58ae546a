"""Ray started, found and ended by `ray_workers` itself: addresses, machines that are gone, Ctrl-C, a killed driver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from formulations import InvalidInputError
from solvers.price_sharing.cluster import LocalWorkers, ray_workers, sharded_price_sharing
from tests.solvers.cases import instance, lambdas
from tests.solvers.price_sharing.cluster.on_ray import Killing, asked_again, assert_gone, descendants, is_alive
from tests.solvers.price_sharing.cluster.parted import joined, recipes_of
from tests.solvers.price_sharing.cluster.test_price_sharing import assert_as_whole

ray = pytest.importorskip("ray", reason='Ray is not installed: pip install "prunemodels[ray]"')

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),
]
ROOT = Path(__file__).resolve().parents[4]


@pytest.mark.slow
def test_a_start_that_fails_leaves_nothing() -> None:
    """Where a part cannot be built, the Ray that was started for it has ended when the error arrives."""
    before = descendants(os.getpid())
    with pytest.raises(InvalidInputError, match="more parts than there are"):
        ray_workers([_bad], address="local")
    assert not ray.is_initialized()
    assert_gone(descendants(os.getpid()) - before)


def _bad() -> None:
    raise InvalidInputError("more parts than there are")


@pytest.mark.slow
def test_a_machine_may_be_gone() -> None:
    """Of three machines one is taken away in a round: its worker goes on at another, and the answer is the same."""
    from ray._common.utils import get_ray_address_file
    from ray.cluster_utils import Cluster

    problem, lam = instance("digits"), lambdas("digits")[2]
    before = descendants(os.getpid())
    # the first machine has the driver and no core for workers
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        machines = [cluster.add_node(num_cpus=1) for _ in range(3)]
        with Killing(recipes_of(problem, 2), address=cluster.address) as workers:
            sharded = joined(problem, workers)
            workers.watch()
            undisturbed = sharded_price_sharing(sharded, lam, small_core=0)
            assert_as_whole(problem, undisturbed, lam, small_core=0)
            calls, old = workers.asked, workers.processes[0]
            where = {m: _raylet(m) for m in machines}
            its = next(m for m in machines if old in descendants(where[m]))

            def switch_off() -> None:
                cluster.remove_node(its, allow_graceful=False)

            workers.watch(0, "charges", by=switch_off)
            found = sharded_price_sharing(sharded, lam, small_core=0)
            assert (found.value, found.bound) == (undisturbed.value, undisturbed.bound)
            assert (found.kept == undisturbed.kept).all()
            assert workers.lost == 1
            assert workers.asked == [asked_again(calls[0], "charges", 0), calls[1]]
            started = descendants(os.getpid()) - before
        # what was connected here is let go, and what ran before stays
        assert not ray.is_initialized()
        assert is_alive(where[machines[0]]) or is_alive(where[machines[1]])
    finally:
        cluster.shutdown()
        # Ray would look for this cluster ever after
        Path(get_ray_address_file(None)).unlink(missing_ok=True)
    assert_gone(started | {old})


def _raylet(machine: Any) -> int:
    return int(machine.all_processes["raylet"][0].process.pid)


ON_RAY = """
from solvers.price_sharing.cluster import LocalWorkers, ray_workers, sharded_price_sharing
from tests.solvers.cases import instance
from tests.solvers.price_sharing.cluster.on_ray import descendants
from tests.solvers.price_sharing.cluster.parted import joined, recipes_of
import os
import sys
problem = instance("digits")
with ray_workers(recipes_of(problem, 2), address="local", cpus=0.5) as workers:
    sharded = joined(problem, workers)
    sharded_price_sharing(sharded, 0.002, small_core=0, checkpoint=sys.argv[1])
    print(*descendants(os.getpid()), flush=True)
    while True:
        sharded_price_sharing(sharded, 0.002, small_core=0)
"""


@contextmanager
def _run_on_ray(checkpoint: Path) -> Iterator[tuple[subprocess.Popen[str], set[int]]]:
    """The script, when its first run has ended, and the processes of its Ray."""
    command = [sys.executable, "-c", ON_RAY, str(checkpoint)]
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as script:
        assert script.stdout is not None
        assert script.stderr is not None
        processes = {int(p) for p in script.stdout.readline().split()}
        assert len(processes) > 2, script.stderr.read()
        yield script, processes


@pytest.mark.slow
def test_ctrl_c_ends_ray_too(tmp_path: Path) -> None:
    """A script that started Ray is interrupted as a terminal does it, all its processes: it says so, and none stays behind."""
    with _run_on_ray(tmp_path / "scores.npz") as (script, processes):
        os.killpg(script.pid, signal.SIGINT)
        # Ray gives its daemons some seconds each to end by themselves
        _, error = script.communicate(timeout=60)
    assert "interrupted while sharing prices" in error
    assert script.returncode != 0
    assert_gone(processes)


@pytest.mark.slow
def test_a_killed_driver_leaves_its_scores_and_no_process(tmp_path: Path) -> None:
    """The driver alone is killed without warning: Ray ends by itself, and another run goes on after the rounds that were kept."""
    kept = tmp_path / "scores.npz"
    with _run_on_ray(kept) as (script, processes):
        script.kill()
        script.communicate(timeout=60)
    assert_gone(processes, within=180)  # Ray's agents look every minute or so whether the others are there
    problem = instance("digits")
    with LocalWorkers(recipes_of(problem, 2)) as workers:
        sharded = joined(problem, workers)
        anew = sharded_price_sharing(sharded, 0.002, small_core=0)
        resumed = sharded_price_sharing(sharded, 0.002, small_core=0, checkpoint=kept)
    assert resumed.value == anew.value
    assert resumed.stats["iterations"] == 2 * anew.stats["iterations"]  # the kept ones count; both look after ten
