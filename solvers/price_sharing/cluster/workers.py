"""Objects that work elsewhere, each built from a recipe: called all together, and built again when one is lost.

What has changed an object's state since it was built is kept as a *journal* of calls, so

    object i  =  recipe i, then the calls of the journal                                                                  (1)

and a lost one costs its rebuilding by (1) and the call that was under way. The calls themselves are a transport's: in this
process (`LocalWorkers`), or through Ray (`solvers.price_sharing.cluster.ray_workers`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from formulations.errors import InvalidInputError, SolverFailedError

Recipe = Callable[[], Any]
"""Builds an object; it must be able to travel to where the object is to live."""


class WorkerLostError(Exception):
    """A worker is gone, with the state of its object."""


class Workers(ABC):
    """Objects built from recipes, wherever they live.

    Parameters
    ----------
    recipes
        one an object.
    restarts
        how often in a row a lost object is built again before that is an error.

    Attributes
    ----------
    lost : int
        how many were lost so far.
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
            forget what was told after the first so many calls: this one does not build on it.

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
        """Submit to every object, then wait for each in turn; the lost ones are rebuilt and asked again."""
        waiting = [self._safely(submit, i) for i in range(len(self))]
        return [self._settled(i, waiting[i], submit, rebuild) for i in range(len(self))]

    def _settled(self, i: int, call: Any, submit: Callable[[int], Any], rebuild: Callable[[int], None]) -> Any:
        """The answer of object i, after as many restarts as it takes."""
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
        """A call under way; where the worker is found to be gone already, one that says so when it is waited for."""
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
        """Arguments as they are handed to every object."""
        return args

    @abstractmethod
    def start(self, i: int) -> Any:
        """Begin to build object i in a new place; what `wait` takes."""

    @abstractmethod
    def submit(self, i: int, method: str, args: tuple[Any, ...]) -> Any:
        """Begin a call; what `wait` takes."""

    @abstractmethod
    def wait(self, call: Any) -> Any:
        """The answer of a call; raises `WorkerLostError` where the worker is gone, and what the call raised otherwise."""

    def close(self) -> None:
        """Let all objects go."""
        self._journal.clear()


class LocalWorkers(Workers):
    """Objects of this process, one called after the other: what the others are compared with."""

    def __init__(self, recipes: Sequence[Recipe], restarts: int = 3) -> None:
        super().__init__(recipes, restarts)
        self.objects: list[Any] = [None] * len(self)
        self.build()

    def start(self, i: int) -> Any:
        """Build object i when it is waited for."""

        def build() -> None:
            self.objects[i] = self.recipes[i]()

        return build

    def submit(self, i: int, method: str, args: tuple[Any, ...]) -> Any:
        """Call when it is waited for."""
        return lambda: getattr(self.objects[i], method)(*args)

    def wait(self, call: Any) -> Any:
        """Make the call."""
        if isinstance(call, WorkerLostError):
            raise call
        return call()

    def close(self) -> None:
        """Let all objects go."""
        super().close()
        self.objects = [None] * len(self)
