"""`Workers` that are Ray actors with one object each, on the machines of a cluster.

    with ray_workers(recipes) as workers:
        ...

An actor is a process. A worker counts as lost where its process has ended, where its machine has, and where an answer was lost on
the way. Then a new actor is started on any machine with free cores, and its object is built from the recipe and the journal.
Arguments for all workers are put into Ray's object store once, and each machine fetches them once.

Whoever can reach the ports of a Ray cluster, and knows its token where it has one, can run any code on it. A cluster that is
started here listens on this machine's own address 127.0.0.1 only, and Ray gives it a token.
"""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

from formulations.arguments import Natural, Positive, Seconds, checked
from formulations.errors import InvalidInputError, SolverFailedError
from formulations.extras import package
from solvers.price_sharing.cluster.workers import LocalWorkers, Recipe, WorkerLostError, Workers
from solvers.price_sharing.params import ClusterParams

ADDRESS_REMEDY = 'give "host:port" of a cluster that runs (`ray start --head` starts one and tells it), or leave address out'


def ray_package() -> Any:
    """The ray package.

    Raises
    ------
    MissingPackageError
        with the command that installs it.
    """
    return package("ray")


def connect(ray: Any, address: str | None) -> bool:
    """Connect to a cluster, or start one; True if that was done here, False if Ray was connected before.

    Raises `InvalidInputError` where no cluster answers there, and where Ray is connected to another one already. Raises
    `SolverFailedError` where Ray does not start.
    """
    if ray.is_initialized():
        now = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", now):
            raise InvalidInputError(f"address is {address!r}, but Ray is connected to {now}; call ray.shutdown() first")
        return False
    # Always an explicit address: `ray.init()` alone would wait a quarter of an hour for a cluster that has crashed.
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address not in ("auto", "local"):
        _check_listening(address)
    try:
        with _on_this_machine_only(ray) if address == "local" else nullcontext():
            ray.init(address=address, include_dashboard=False, log_to_driver=False)
    except (ConnectionError, ValueError) as error:
        raise InvalidInputError(f"address is {address!r}, where no cluster is to be had ({error}); {ADDRESS_REMEDY}") from error
    except Exception as error:  # Ray has no type of its own for a node that does not start in time
        raise SolverFailedError(
            f"Ray did not start ({str(error).strip().splitlines()[0]}); try again on a less busy machine, or {ADDRESS_REMEDY}"
        ) from error
    return True


@contextmanager
def _on_this_machine_only(ray: Any) -> Iterator[None]:
    """A cluster that starts in this block listens on 127.0.0.1 only, as on Windows and macOS; elsewhere on all addresses.

    Ray reads the variable when it is imported, here and in the processes that it starts. `ray.init(_node_ip_address="127.0.0.1")`
    does not help: Ray replaces that address by one that other machines can reach.
    """
    constants = ray._private.ray_constants
    name, enabled = constants.ENABLE_RAY_CLUSTERS_ENV_VAR, constants.ENABLE_RAY_CLUSTER
    before = os.environ.get(name)
    os.environ[name], constants.ENABLE_RAY_CLUSTER = "0", False
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = enabled
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _check_listening(address: str) -> None:
    """Refuse an address where no process listens: Ray would keep trying for a quarter of an hour."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), ClusterParams.connection_seconds).close()
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"address is {address!r}, where no cluster answers ({error}); {ADDRESS_REMEDY}") from error


@dataclass(frozen=True)
class _Starting:
    """An actor that is starting: `process` is the reference of its process number, `built` that of its finished object."""

    process: Any
    built: Any
    i: int


class RayWorkers(Workers):
    """One actor for each recipe; the arguments are those of `start_workers`.

    Attributes
    ----------
    processes : list of int
        process number of each actor on its machine.
    """

    def __init__(
        self,
        recipes: Sequence[Recipe],
        *,
        address: str | None = None,
        cpus: float = 1.0,
        restarts: int = 3,
        start_limit: float = 300.0,
    ) -> None:
        super().__init__(recipes, restarts)
        self.ray, self.start_limit = ray_package(), start_limit
        self._owner = connect(self.ray, address)
        self.actors: list[Any] = [None] * len(self)
        self.processes = [0] * len(self)
        self._pickled_recipes: list[Any] = []
        try:
            cores = float(self.ray.cluster_resources().get("CPU", 0.0))
            if cpus * len(self) > cores:
                raise InvalidInputError(
                    f"{len(self)} parts claim {cpus:g} cores each, the cluster has {cores:g}; give fewer parts, or a smaller cpus"
                )
            self._actor_class = self.ray.remote(num_cpus=cpus, max_restarts=0)(_Host)
            # As bytes: arrays in the object store are read-only, and numba would compile its functions again for them.
            self._pickled_recipes = [self.ray.put(pickle.dumps(recipe)) for recipe in self.recipes]
            self.build()
        except BaseException:
            self.close()
            raise

    def start(self, i: int) -> Any:
        """Start a new actor, after ending the old one if there is one."""
        if self.actors[i] is not None:
            self.ray.kill(self.actors[i], no_restart=True)
        actor = self.actors[i] = self._actor_class.remote()
        return _Starting(actor.process.remote(), actor.build.remote(self._pickled_recipes[i]), i)

    def submit(self, i: int, method: str, args: tuple[Any, ...]) -> Any:
        """Begin a call; an actor answers its calls in order."""
        return self.actors[i].call.remote(method, *args)

    def share(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """References to the arguments in the object store."""
        return tuple(self.ray.put(a) for a in args)

    def wait(self, call: Any) -> Any:
        """The answer."""
        if isinstance(call, WorkerLostError):
            raise call
        if isinstance(call, _Starting):
            try:
                self.processes[call.i] = int(self._get(call.process, self.start_limit))
            except self.ray.exceptions.GetTimeoutError as error:
                raise SolverFailedError(self._no_cores(call.i)) from error
            return self._get(call.built)
        return self._get(call)

    def _get(self, reference: Any, limit: float | None = None) -> Any:
        """What a call returns or raises. By default without a time limit, because Ray reports a lost actor by itself."""
        errors = self.ray.exceptions
        lost = (errors.RayActorError, errors.ObjectLostError, errors.WorkerCrashedError, errors.OutOfMemoryError)
        try:
            return self.ray.get(reference, timeout=limit)
        except errors.RayTaskError as error:
            if isinstance(error.cause, Exception):
                raise error.cause from error
            raise
        except lost as error:
            lines = str(error).strip().splitlines()
            if "creation task" in lines[0]:  # The actor cannot be created, so a restart would fail too.
                raise SolverFailedError(
                    f"a worker cannot start ({lines[-1]}); every machine needs the packages and versions of this one"
                ) from error
            raise WorkerLostError(lines[0]) from error

    def _no_cores(self, i: int) -> str:
        """The message where worker i did not get its cores in time."""
        cores, free = (r.get("CPU", 0.0) for r in (self.ray.cluster_resources(), self.ray.available_resources()))
        return (
            f"worker {i} has waited {self.start_limit:g} s for its cores: the cluster has {cores:g}, of which {free:g} are free; "
            "wait until others have ended, give fewer parts or a smaller cpus, or a larger start_limit"
        )

    def close(self) -> None:
        """End the actors, and Ray where it was started here."""
        super().close()
        for k, actor in enumerate(self.actors):
            if actor is not None and self.ray.is_initialized():
                self.ray.kill(actor, no_restart=True)
            self.actors[k] = None
        self._pickled_recipes = []
        if self._owner and self.ray.is_initialized():
            self.ray.shutdown()


ray_workers = RayWorkers
"""Start actors that build their objects, in a ``with`` statement.

Leaving the block ends the actors, and Ray if it was started or connected here; a cluster that was running before keeps running.
"""


@checked
def start_workers(
    recipes: Sequence[Recipe],
    *,
    ray: bool = True,
    address: str | None = None,
    cpus: Positive = 1.0,
    restarts: Natural = 3,
    start_limit: Seconds = 300.0,
) -> Workers:
    """Start a worker for each part of the rows, in a ``with`` statement; leaving the block ends them.

    Parameters
    ----------
    recipes
        of `shard_recipes`.
    ray
        True: an actor of Ray for each, which is a process on a machine of the cluster. False: objects in this process, which are
        called one after the other, for trying.
    address
        of a running cluster, "host:port", or "auto" for the one that this machine belongs to. None: Ray as it is connected
        already, else the cluster that the environment variable ``RAY_ADDRESS`` names, else one that is started here.
    cpus
        cores that each actor claims.
    restarts
        how often in a row a lost worker is started again.
    start_limit
        seconds that an actor, new or restarted, may wait for cores that others hold. The time to read its part does not count.

    Raises
    ------
    InvalidInputError
        where no cluster answers at the address, and where it has too few cores.
    SolverFailedError
        where Ray does not start, no cores become free in time, and where a worker is lost again and again.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, problem
    >>> parts = pm.cluster.array_parts(X_valid.to_numpy(), 3)
    >>> recipes = pm.cluster.shard_recipes(problem.ensemble, problem.costs, parts)
    >>> with pm.cluster.start_workers(recipes, ray=False) as workers:
    ...     pm.cluster.ShardedProblem.build(problem.ensemble, problem.errors, workers, problem.costs)
    ...
    ShardedProblem(Ensemble(8 trees, 84 splits, 10 features, classification), 150 cost rows on 3 workers)
    """
    if not ray:
        return LocalWorkers(recipes, restarts)
    return RayWorkers(recipes, address=address, cpus=cpus, restarts=restarts, start_limit=start_limit)


class _Host:
    """The class of the actors: it holds one object."""

    def build(self, pickled_recipe: bytes) -> None:
        """Build the object; the bytes come from the driver, so it is safe to unpickle them."""
        self.object = pickle.loads(pickled_recipe)()

    def call(self, method: str, *args: Any) -> Any:
        """Call a method of the object."""
        return getattr(self.object, method)(*args)

    def process(self) -> int:
        """The number of the actor's process."""
        return os.getpid()
