"""`Workers` that are Ray actors: one object each, on whichever machines the cluster has.

    with ray_workers(recipes) as workers:
        ...

An actor is a process. Its death, its machine's, or the loss of an answer on the way are all a lost worker: a new actor is
started, wherever there is room, and rebuilt from its recipe and the journal. Arrays for all are put into Ray's object store once,
and each machine fetches them once.
"""

from __future__ import annotations

import os
import pickle
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from formulations.errors import InvalidInputError, SolverFailedError
from solvers.price_sharing.cluster.workers import Recipe, WorkerLostError, Workers

CONNECT = 10.0
"""Seconds within which an address must accept a connection; a network that needs more is none to work on."""

START = 'give "host:port" of a cluster that runs (`ray start --head` starts one and tells it), or leave address out'


def ray_package() -> Any:
    """The ray package.

    Raises
    ------
    ImportError
        with the command that installs it.
    """
    try:
        import ray
    except ImportError as error:
        raise ImportError(
            'clusters are reached through Ray; install it with: python -m pip install "prunemodels[ray]"'
        ) from error
    return ray


def connect(ray: Any, address: str | None) -> bool:
    """Connect to a cluster, or start one; whether that was done here, and not before.

    Raises
    ------
    InvalidInputError
        where no cluster answers there, and where Ray is connected to another one already.
    """
    if ray.is_initialized():
        now = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", now):
            raise InvalidInputError(f"address is {address!r}, but Ray is connected to {now}; call ray.shutdown() first")
        return False
    # never what `ray.init()` would look for by itself: it waits a quarter of an hour for a cluster that has crashed
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address not in ("auto", "local"):
        _listens(address)
    try:
        ray.init(address=address, include_dashboard=False, log_to_driver=False)
    except (ConnectionError, ValueError) as error:
        raise InvalidInputError(f"address is {address!r}, where no cluster is to be had ({error}); {START}") from error
    return True


def _listens(address: str) -> None:
    """Refuse an address where nobody listens: Ray would try for a quarter of an hour."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), CONNECT).close()
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"address is {address!r}, where no cluster answers ({error}); {START}") from error


@dataclass(frozen=True)
class _Starting:
    """An actor that is on its way: its process number comes first, its object later."""

    process: Any
    built: Any
    i: int


class RayWorkers(Workers):
    """One actor for each recipe.

    Parameters
    ----------
    address
        of a running cluster, "host:port", or "auto" for the one that this machine belongs to. None: Ray as it is connected
        already, else the cluster that the environment variable ``RAY_ADDRESS`` names, else one that is started here.
    cpus
        cores that each actor claims.
    restarts
        how often in a row a lost worker is started again.
    start_limit
        seconds that an actor may wait for its cores, which others may hold; for lost ones too. Reading its part does not count.

    Attributes
    ----------
    processes : list of int
        number of each actor's process, on its machine.

    Raises
    ------
    InvalidInputError
        where no cluster answers at the address, and where it has too few cores.
    SolverFailedError
        where cores do not get free in time, and where a worker is lost again and again.
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
        self._plans: list[Any] = []
        try:
            have = float(self.ray.cluster_resources().get("CPU", 0.0))
            if cpus * len(self) > have:
                raise InvalidInputError(
                    f"{len(self)} parts claim {cpus:g} cores each, the cluster has {have:g}; give fewer parts, or a smaller cpus"
                )
            self._kind = self.ray.remote(num_cpus=cpus, max_restarts=0)(_Host)
            # as bytes: arrays that come out of the object store are read-only, and compiled code would be compiled anew for them
            self._plans = [self.ray.put(pickle.dumps(recipe)) for recipe in self.recipes]
            self.build()
        except BaseException:
            self.close()
            raise

    def start(self, i: int) -> Any:
        """A new actor; the old one, should it still be there, is ended."""
        if self.actors[i] is not None:
            self.ray.kill(self.actors[i], no_restart=True)
        actor = self.actors[i] = self._kind.remote()
        return _Starting(actor.process.remote(), actor.build.remote(self._plans[i]), i)

    def submit(self, i: int, method: str, args: tuple[Any, ...]) -> Any:
        """Ask an actor; it answers its calls in order."""
        return self.actors[i].call.remote(method, *args)

    def share(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments in the object store."""
        return tuple(self.ray.put(a) for a in args)

    def wait(self, call: Any) -> Any:
        """The answer."""
        if isinstance(call, WorkerLostError):
            raise call
        if isinstance(call, _Starting):
            try:
                self.processes[call.i] = int(self._get(call.process, self.start_limit))
            except self.ray.exceptions.GetTimeoutError as error:
                raise SolverFailedError(self._waiting(call.i)) from error
            return self._get(call.built)
        return self._get(call)

    def _get(self, reference: Any, limit: float | None = None) -> Any:
        """What a call returns or raises, sooner or later: Ray tells when an actor is gone, so a slow one may take its time."""
        errors = self.ray.exceptions
        lost = (errors.RayActorError, errors.ObjectLostError, errors.WorkerCrashedError, errors.OutOfMemoryError)
        try:
            return self.ray.get(reference, timeout=limit)
        except errors.RayTaskError as error:
            if isinstance(error.cause, Exception):
                raise error.cause from error
            raise
        except lost as error:
            told = str(error).strip().splitlines()
            if "creation task" in told[0]:  # not lost: it cannot be, and will not the next time
                raise SolverFailedError(
                    f"a worker cannot start ({told[-1]}); every machine needs the packages and versions of this one"
                ) from error
            raise WorkerLostError(told[0]) from error

    def _waiting(self, i: int) -> str:
        have, free = (r.get("CPU", 0.0) for r in (self.ray.cluster_resources(), self.ray.available_resources()))
        return (
            f"worker {i} has waited {self.start_limit:g} s for its cores: the cluster has {have:g}, of which {free:g} are free; "
            "wait until others have ended, give fewer parts or a smaller cpus, or a larger start_limit"
        )

    def close(self) -> None:
        """End the actors, and Ray where it was started here."""
        super().close()
        for k, actor in enumerate(self.actors):
            if actor is not None and self.ray.is_initialized():
                self.ray.kill(actor, no_restart=True)
            self.actors[k] = None
        self._plans = []
        if self._owner and self.ray.is_initialized():
            self.ray.shutdown()


def ray_workers(
    recipes: Sequence[Recipe],
    *,
    address: str | None = None,
    cpus: float = 1.0,
    restarts: int = 3,
    start_limit: float = 300.0,
) -> RayWorkers:
    """Start the actors and let them build their objects; use it in a ``with`` statement.

    Parameters
    ----------
    address, cpus, restarts, start_limit
        as of `RayWorkers`. What was started or connected here is ended with the workers; a cluster that ran before stays.

    Raises
    ------
    ImportError
        where Ray is not installed.
    InvalidInputError
        where no cluster answers at the address, and where it has too few cores.
    SolverFailedError
        where cores do not get free in time, and where a worker is lost again and again.
    """
    return RayWorkers(recipes, address=address, cpus=cpus, restarts=restarts, start_limit=start_limit)


class _Host:
    """What an actor is: a place for one object."""

    def build(self, plan: bytes) -> None:
        """From its recipe."""
        self.object = pickle.loads(plan)()  # the driver's own bytes

    def call(self, method: str, *args: Any) -> Any:
        """A method of the object."""
        return getattr(self.object, method)(*args)

    def process(self) -> int:
        """Its number."""
        return os.getpid()
