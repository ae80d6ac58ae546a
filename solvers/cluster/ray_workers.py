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
from collections.abc import Sequence
from typing import Any

from formulations.errors import InvalidInputError
from solvers.cluster.workers import Recipe, WorkerLostError, Workers


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


class RayWorkers(Workers):
    """One actor for each recipe.

    Parameters
    ----------
    cpus
        cores that each actor claims; with fewer free cores than the actors claim, Ray would wait for ever.
    restarts
        how often in a row a lost worker is started again.

    Raises
    ------
    InvalidInputError
        where the cluster has too few cores.
    """

    def __init__(self, recipes: Sequence[Recipe], *, cpus: float = 1.0, restarts: int = 3) -> None:
        super().__init__(recipes, restarts)
        self.ray = ray_package()
        self._owner = not self.ray.is_initialized()
        if self._owner:
            self.ray.init(include_dashboard=False, log_to_driver=False)
        self.actors: list[Any] = [None] * len(self)
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
        self.actors[i] = self._kind.remote()
        return self.actors[i].build.remote(self._plans[i])

    def submit(self, i: int, method: str, args: tuple[Any, ...]) -> Any:
        """Ask an actor; it answers its calls in order."""
        return self.actors[i].call.remote(method, *args)

    def share(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments in the object store."""
        return tuple(self.ray.put(a) for a in args)

    def wait(self, call: Any) -> Any:
        """The answer."""
        errors = self.ray.exceptions
        if isinstance(call, WorkerLostError):
            raise call
        try:
            return self.ray.get(call)
        except errors.RayTaskError as error:
            if isinstance(error.cause, Exception):
                raise error.cause from error
            raise
        except (errors.RayActorError, errors.ObjectLostError, errors.WorkerCrashedError) as error:
            raise WorkerLostError(str(error).splitlines()[0]) from error

    def process_of(self, i: int) -> int:
        """Number of the process that an actor is, on its machine."""
        return int(self.ray.get(self.actors[i].process.remote()))

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


def ray_workers(recipes: Sequence[Recipe], *, cpus: float = 1.0, restarts: int = 3) -> RayWorkers:
    """Start the actors and let them build their objects; use it in a ``with`` statement.

    Where ``ray.init(address=...)`` was not called before, Ray is started on this machine, and ended with the workers.

    Raises
    ------
    ImportError
        where Ray is not installed.
    InvalidInputError
        where the cluster has too few cores.
    """
    return RayWorkers(recipes, cpus=cpus, restarts=restarts)


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
