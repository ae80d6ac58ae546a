"""Ray: workers and machines that go, drivers that are killed or interrupted, and what stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from formulations import InvalidInputError, SolverFailedError
from solvers import price_sharing, pruning_path
from solvers.price_sharing.cluster import LocalWorkers, ShardedSolution, ray_workers, sharded_price_sharing
from solvers.price_sharing.cluster.ray_workers import _Host
from tests.solvers.cases import instance, lambdas
from tests.solvers.price_sharing.cluster.on_ray import Killing, asked_again, assert_gone, descendants, is_alive
from tests.solvers.price_sharing.cluster.parted import joined, parted, recipes_of
from tests.solvers.price_sharing.cluster.test_price_sharing import assert_as_whole

ray = pytest.importorskip("ray", reason='Ray is not installed: pip install "prunemodels[ray]"')
ROOT = Path(__file__).resolve().parents[4]
pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """Two cores for two workers; none of its processes stays."""
    before = descendants(os.getpid())
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100_000_000)
    yield
    started = descendants(os.getpid()) - before
    assert len(started) > 2
    ray.shutdown()
    assert_gone(started)


def assert_same(found: ShardedSolution, other: ShardedSolution) -> None:
    """The same run to the last bit: answer, rounds, scores, and the flow on the core."""
    assert (found.value, found.bound) == (other.value, other.bound)
    np.testing.assert_array_equal(found.kept, other.kept)
    ours, theirs = found.certificate, other.certificate
    assert ours.iteration == theirs.iteration
    assert len(ours.stages) == len(theirs.stages)
    for a, b in zip(ours.stages, theirs.stages, strict=True):
        for name in ("nodes", "score", "fixed_in", "fixed_out"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    np.testing.assert_array_equal(ours.score, theirs.score)
    assert (ours.dual is None) is (theirs.dual is None)
    if ours.dual is not None:
        np.testing.assert_array_equal(ours.dual, theirs.dual)


CALLS = ("open", "charges", "level_bills", "integer_charges", "fix", "usage_arcs", "bill")


@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("digits", ("charges",)),
        *(pytest.param(name, CALLS, marks=pytest.mark.slow) for name in ("breast cancer, licence", "diabetes")),
        # a tie: no round decides what goes there, so a core is left, before which all workers say what memory they have
        pytest.param("digits", ("memory_for_arcs",), marks=pytest.mark.slow, id="digits, a tie"),
    ],
)
def test_a_killed_worker_costs_one_call(name: str, calls: tuple[str, ...], cluster: None) -> None:
    """Two actors give the run of one process to the last bit; one that is killed, at whatever it does, is started again.

    It is asked the lost call once more, after what rebuilds its shard; the other nothing more than ever. With rounded errors
    (diabetes) likewise.
    """
    problem = instance(name)
    lam: Any = pruning_path(problem).breakpoints[-2] if calls == ("memory_for_arcs",) else lambdas(name)[2]
    local = sharded_price_sharing(parted(problem, 2), lam, small_core=0)
    assert_as_whole(problem, local, lam, small_core=0)
    with Killing(recipes_of(problem, 2)) as workers:
        sharded = joined(problem, workers)
        workers.watch()
        assert_same(sharded_price_sharing(sharded, lam, small_core=0), local)
        undisturbed, processes = workers.asked, set(workers.processes)
        assert workers.lost == 0
        for k, method in enumerate(calls):
            victim, before = k % 2, list(workers.processes)
            workers.watch(victim, method)
            found = sharded_price_sharing(sharded, lam, small_core=0)
            assert_same(found, local)
            assert workers.lost == k + 1
            assert found.stats["workers_lost"] == 1 or method != "charges"  # the bill is asked for after the run
            assert workers.asked == [asked_again(c, method, 0) if i == victim else c for i, c in enumerate(undisturbed)]
            assert [new != old for new, old in zip(workers.processes, before, strict=True)] == [victim == 0, victim == 1]
            processes |= set(workers.processes)
    assert_gone(processes)


@pytest.mark.slow
def test_what_goes_wrong_at_a_worker_is_said_here(cluster: None) -> None:
    """A source that fails raises its own error; one that kills its process ends in an error, not in a loop; cores are counted."""
    problem = instance("iris")
    bad = recipes_of(problem, 2)
    bad[1].args[0].X[3, 2] = np.inf  # type: ignore[attr-defined]
    with pytest.raises(InvalidInputError, match=r"part 1\[3, 2\] is infinite") as error:
        ray_workers(bad)
    assert type(error.value) is InvalidInputError  # not Ray's, which has the worker's stack in its message
    with pytest.raises(SolverFailedError, match=r"worker 0 was lost 2 times in a row .*see whether its part"):
        ray_workers([_suicide], restarts=1)
    with pytest.raises(InvalidInputError, match="3 parts claim 1 cores each, the cluster has 2"):
        ray_workers(recipes_of(problem, 3))
    with ray_workers(recipes_of(problem, 3), cpus=0.5) as workers:
        found = sharded_price_sharing(joined(problem, workers), 0.02)
    assert found.on(problem).value == price_sharing(problem, 0.02).value


def _suicide() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.slow
def test_cores_that_others_hold_are_waited_for_in_vain(cluster: None) -> None:
    """Workers whose cores are taken give up after `start_limit` and say how many are free; those that have them go on."""
    problem = instance("iris")
    with ray_workers(recipes_of(problem, 2)) as first:
        with pytest.raises(SolverFailedError, match=r"worker 0 has waited 2 s .* 2, of which 0 are free"):
            ray_workers(recipes_of(problem, 1), start_limit=2.0)
        assert sharded_price_sharing(joined(problem, first), 0.02).status == "optimal"


class _Homeless(_Host):
    def __init__(self) -> None:
        raise ImportError("No module named 'solvers'")


@pytest.mark.slow
def test_a_worker_that_cannot_start_is_not_tried_again(cluster: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a machine lacks the package, the error is about that, at the first try."""
    monkeypatch.setattr(sys.modules["solvers.price_sharing.cluster.ray_workers"], "_Host", _Homeless)
    with pytest.raises(SolverFailedError, match=r"a worker cannot start \(.*No module named 'solvers'\); every machine needs"):
        ray_workers(recipes_of(instance("iris"), 2))


class _Busy:
    def sleep(self) -> None:
        time.sleep(600)


@pytest.mark.slow
def test_leaving_ends_what_is_under_way(cluster: None) -> None:
    """A worker in the middle of a long call is ended with the others."""
    with ray_workers([_Busy]) as workers:
        workers.submit(0, "sleep", ())
    assert_gone(set(workers.processes))


LISTENING = """
import os
from tests.solvers.cases import instance
from tests.solvers.price_sharing.cluster.on_ray import listening
from tests.solvers.price_sharing.cluster.parted import recipes_of
from solvers.price_sharing.cluster import ray_workers
with ray_workers(recipes_of(instance("papers"), 1)):
    print(sorted(listening(os.getpid())), os.environ["RAY_AUTH_MODE"], "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER" in os.environ)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads listening sockets from /proc")
def test_a_cluster_that_is_started_here_cannot_be_reached_from_elsewhere() -> None:
    """All its processes listen on 127.0.0.1 only, and a token is asked for; afterwards the environment is as before."""
    environment = {name: value for name, value in os.environ.items() if name not in ("RAY_ADDRESS", "RAY_AUTH_MODE")}
    done = subprocess.run(
        [sys.executable, "-c", LISTENING], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "['127.0.0.1'] token False"


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
            where = {m: int(m.all_processes["raylet"][0].process.pid) for m in machines}
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
