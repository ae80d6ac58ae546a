"""Objects at workers: each is built from a recipe, all are called together, and a lost one is built again.

The calls that have changed the objects since they were built are kept as a *journal*, so

    object i  =  recipe i, then the calls of the journal                                                                  (1)

A lost object is built again by (1), and then the call that was under way is repeated. Two transports make the calls:
`LocalWorkers` in this process, and `solvers.price_sharing.cluster.ray_workers` through Ray.

Each worker reads its part of the cost sample from a source, a function without arguments that returns rows, or rows and weights.
It is sent to its worker, so it must be one that can be pickled, such as a dataclass of this module. The cost sample is the rows
of all sources, one source after the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import BrokenFileError, InvalidInputError, SolverFailedError
from formulations.extras import package

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
        self._all(self.start, lambda i: None)

    def ask(self, method: str, *args: Any) -> list[Any]:
        """Call a method that changes nothing on every object; the answers in order.

        Raises `SolverFailedError` where a worker is lost again and again.
        """
        shared = self.share(args)
        return self._all(lambda i: self.submit(i, method, shared), self._rebuild)

    def tell(self, method: str, *args: Any, after: int | None = None) -> list[Any]:
        """Call a method that changes the objects; the answers in order.

        `after`: before the call, forget all but the first so many calls of the journal; None: forget nothing. For a call that
        replaces what the later calls did. Raises `SolverFailedError` where a worker is lost again and again.
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


RowSource = Callable[[], Any]
"""Returns rows of shape (N, n_features), or a pair of rows and their weights, shape (N,)."""


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows that are sent to the worker; weights None: 1 each."""

    X: NDArray[Any]
    weights: NDArray[np.float64] | None = None

    def __call__(self) -> tuple[NDArray[Any], NDArray[np.float64] | None]:
        """The rows and weights as they are."""
        return self.X, self.weights


@dataclass(frozen=True)
class ParquetRows:
    """Row groups of a Parquet file that the worker can open."""

    file: str  # its path, as the worker sees it
    groups: tuple[int, ...]  # numbers of the row groups
    features: tuple[str, ...]  # the columns, in the forest's order
    weight: str | None = None  # the column of the weights; None: 1 each

    def __call__(self) -> tuple[NDArray[np.float32], NDArray[np.float64] | None]:
        """Read group by group into one float32 array.

        Raises `BrokenFileError` where the file cannot be read, or lacks a column.
        """
        pa, parquet = package("pyarrow"), package("pyarrow.parquet")
        columns = [*self.features, *([] if self.weight is None else [self.weight])]
        try:
            with parquet.ParquetFile(self.file) as file:
                sizes = [file.metadata.row_group(g).num_rows for g in self.groups]
                X = np.empty((sum(sizes), len(self.features)), dtype=np.float32)
                weights = np.ones(len(X))
                first = 0
                for group, size in zip(self.groups, sizes, strict=True):
                    table = file.read_row_group(group, columns=columns)
                    for k, name in enumerate(self.features):
                        X[first : first + size, k] = table.column(name).to_numpy()
                    if self.weight is not None:
                        weights[first : first + size] = table.column(self.weight).to_numpy()
                    first += size
        except (OSError, KeyError, ValueError, pa.ArrowException) as error:
            raise BrokenFileError(f"{self.file}: row groups {self.groups} cannot be read ({error})") from error
        return X, None if self.weight is None else weights


@checked
def array_parts(X: NDArray[Any], n_parts: int, sample_weight: NDArray[np.float64] | None = None) -> list[ArrayRows]:
    """An array, divided into `n_parts` parts of about equal size.

    Raises
    ------
    InvalidInputError
        for fewer rows than parts.

    Examples
    --------
    >>> import numpy as np
    >>> import prunemodels as pm
    >>> [len(part.X) for part in pm.cluster.array_parts(np.zeros((10, 2)), 3)]
    [3, 3, 4]
    """
    if not 1 <= n_parts <= len(X):
        raise InvalidInputError(f"n_parts is {n_parts}; {len(X)} rows can be divided among 1 to {len(X)} workers")
    ends = np.linspace(0, len(X), n_parts + 1).astype(np.int64).tolist()
    return [ArrayRows(X[a:b], None if sample_weight is None else sample_weight[a:b]) for a, b in pairwise(ends)]


@checked
def parquet_parts(file: str | Path, n_parts: int, features: Sequence[str], sample_weight: str | None = None) -> list[ParquetRows]:
    """A Parquet file's row groups, divided into `n_parts` parts of about as many rows; only the file's footer is read here.

    Columns go by name: those of `features` in the forest's order, and `sample_weight`.

    Raises
    ------
    BrokenFileError
        where the file cannot be read.
    InvalidInputError
        for fewer row groups than parts, and for a column that the file does not have.

    Examples
    --------
    >>> import tempfile
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = f"{folder}/rows.parquet"
    ...     X_valid.to_parquet(file, row_group_size=50)
    ...     [part.groups for part in pm.cluster.parquet_parts(file, 2, list(X_valid.columns))]
    ...
    [(0,), (1, 2)]
    """
    pa, parquet = package("pyarrow"), package("pyarrow.parquet")
    try:
        with parquet.ParquetFile(file) as opened:
            sizes = [opened.metadata.row_group(g).num_rows for g in range(opened.num_row_groups)]
            known = set(opened.schema_arrow.names)
    except (OSError, pa.ArrowException) as error:
        raise BrokenFileError(f"{file} cannot be read as Parquet ({error})") from error
    missing = [name for name in [*features, *([] if sample_weight is None else [sample_weight])] if name not in known]
    if missing:
        raise InvalidInputError(f"{file} has no column {missing[0]!r}; name the columns in the forest's order")
    if not 1 <= n_parts <= len(sizes):
        raise InvalidInputError(
            f"n_parts is {n_parts}; {file} has {len(sizes)} row groups, and a worker reads whole ones: write smaller ones"
        )
    # A row group that a part's border falls into goes to the nearer side; every part gets at least one group.
    ends = np.cumsum(sizes)
    cuts = [0]
    for k in range(1, n_parts):
        nearest = int(np.argmin(np.abs(ends - ends[-1] * k / n_parts))) + 1
        cuts.append(min(max(nearest, cuts[-1] + 1), len(sizes) - n_parts + k))
    cuts.append(len(sizes))
    return [ParquetRows(str(file), tuple(range(a, b)), tuple(features), sample_weight) for a, b in pairwise(cuts)]
