"""Objects at workers: each is built from a recipe, all are called together, and a lost one is built again.

The calls that have changed the objects since they were built are kept as a *journal*, so

    object i  =  recipe i, then the calls of the journal                                                                  (1)

A lost object is built again by (1), and then the call that was under way is repeated. Two transports make the calls:
`LocalWorkers` in this process, and `solvers.price_sharing.cluster.ray_workers` through Ray.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from formulations.errors import InvalidInputError, SolverFailedError

Recipe = Callable[[], Any]
"""Builds an object; it must be picklable, because it is sent to the object's worker."""


class WorkerLostError(Exception):
    """A worker has ended, and the state of its object is lost."""


class Workers(ABC):
    """Objects built from recipes, in this process or elsewhere.

    Parameters
    ----------
    recipes
        one for each object.
    restarts
        how often in a row a lost object is built again; one more loss is an error.

    Attributes
    ----------
    lost : int
        how many times an object was lost so far.
    """

    def __init__(self, recipes: Sequence[Recipe], restarts: int = 3) -> None:
        if not recipes:
            raise InvalidInputError("there are no parts to work on; give at least one")
        self.recipes, self.restarts, self.lost = list(recipes), restarts, 0
        self._journal: list[tuple[str, tuple[Any, ...]]] = []

    def __len__(self) -> int:
        return len(self.recipes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def build(self) -> None:
        """Build all objects.

        Raises
        ------
        SolverFailedError
            where a worker is lost again and again.
        """
        self._all(self._ask_start, lambda i: None)

    def ask(self, method: str, *args: Any) -> list[Any]:
        """Call a method that changes nothing on every object; the answers in order.

        Raises
        ------
        SolverFailedError
            where a worker is lost again and again.
        """
        shared = self.share(args)
        return self._all(lambda i: self.submit(i, method, shared), self._rebuild)

    def tell(self, method: str, *args: Any, after: int | None = None) -> list[Any]:
        """Call a method that changes the objects; the answers in order.

        Parameters
        ----------
        after
            before the call, forget all but the first so many calls of the journal; None: forget nothing. For a call that replaces
            what the later calls did.

        Raises
        ------
        SolverFailedError
            where a worker is lost again and again.
        """
        if after is not None:
            del self._journal[after:]
        answers = self.ask(method, *args)
        self._journal.append((method, args))
        return answers

    def _all(self, submit: Callable[[int], Any], rebuild: Callable[[int], None]) -> list[Any]:
        """Submit to every object, then wait for each in turn; a lost one is rebuilt and asked again."""
        waiting = [self._safely(submit, i) for i in range(len(self))]
        return [self._settled(i, waiting[i], submit, rebuild) for i in range(len(self))]

    def _settled(self, i: int, call: Any, submit: Callable[[int], Any], rebuild: Callable[[int], None]) -> Any:
        """The answer of object i, after as many restarts as are needed and allowed."""
        for attempt in range(self.restarts + 1):
            try:
                if attempt:
                    rebuild(i)
                    call = submit(i)
                return self.wait(call)
            except WorkerLostError as error:
                self.lost += 1
                reason = error
        raise SolverFailedError(
            f"worker {i} was lost {self.restarts + 1} times in a row ({reason}); see whether its part of the data fits its memory"
        ) from reason

    def _safely(self, submit: Callable[[int], Any], i: int) -> Any:
        """A call under way; where the worker is found to be lost already, the error, which `wait` raises."""
        try:
            return submit(i)
        except WorkerLostError as error:
            return error

    def _ask_start(self, i: int) -> Any:
        return self.start(i)

    def _rebuild(self, i: int) -> None:
        """(1)."""
        self.wait(self.start(i))
        for method, args in self._journal:
            self.wait(self.submit(i, method, self.share(args)))

    def share(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arguments in the form in which every object receives them."""
        return args

    @abstractmethod
    def start(self, i: int) -> Any:
        """Begin to build object i at a new worker; returns what `wait` takes."""

    @abstractmethod
    def submit(self, i: int, method: str, args: tuple[Any, ...]) -> Any:
        """Begin a call; returns what `wait` takes."""

    @abstractmethod
    def wait(self, call: Any) -> Any:
        """The answer of a call; raises `WorkerLostError` where the worker was lost, and otherwise what the call raised."""

    def close(self) -> None:
        """End all workers."""
        self._journal.clear()


class LocalWorkers(Workers):
    """Objects in this process, called one after the other: for trying, and for tests of the other transports."""

    def __init__(self, recipes: Sequence[Recipe], restarts: int = 3) -> None:
        super().__init__(recipes, restarts)
        self.objects: list[Any] = [None] * len(self)
        self.build()

    def start(self, i: int) -> Any:
        """Object i is built when `wait` is called."""

        def build() -> None:
            self.objects[i] = self.recipes[i]()

        return build

    def submit(self, i: int, method: str, args: tuple[Any, ...]) -> Any:
        """The call is made when `wait` is called."""
        return lambda: getattr(self.objects[i], method)(*args)

    def wait(self, call: Any) -> Any:
        """Make the call."""
        if isinstance(call, WorkerLostError):
            raise call
        return call()

    def close(self) -> None:
        """End all workers."""
        super().close()
        self.objects = [None] * len(self)
