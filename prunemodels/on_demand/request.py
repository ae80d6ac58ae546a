"""Requests for features, and functions that serve them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Annotated, Any, Final, Literal, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import InvalidInputError, PruneModelsError
from prunemodels.models.user_columns import pandas_of


class _Unavailable(Enum):
    UNAVAILABLE = "UNAVAILABLE"

    def __repr__(self) -> str:
        return "UNAVAILABLE"


UNAVAILABLE: Final[Literal[_Unavailable.UNAVAILABLE]] = _Unavailable.UNAVAILABLE
"""The answer for a value that cannot be had. NaN is something else: a value that was looked for and is missing."""

NEVER = np.iinfo(np.int32).max
"""In place of a request's number: the item was not paid."""


@dataclass(frozen=True, eq=False)
class Request:
    """Buy these items for these rows, and bring the values of these features.

    Parameters
    ----------
    items
        names of the items that each row pays if it is served, none of which it has paid before. Empty where the features are
        computed from what was bought already, or need no item. An item that is paid once for all rows is named in the first
        request that needs it.
    features
        names of the features that are wanted: those features of the model that this purchase completes.
    rows
        labels of the rows, without repeats.
    price
        what one row pays for the items, once-for-all items left out.
    positions
        int64: places of the rows in what `run` was given.
    columns
        int64: places of the features among the forest's.
    number
        of the request; a walk numbers its requests from 0.
    attempt
        1; 2 and more where an earlier answer left these values out, see ``ask_again`` of `OnDemandPredictor`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, costs, forest
    >>> def laboratory(request):
    ...     print(f"{len(request.rows)} examples buy {', '.join(request.items)}")
    ...     return X_test.loc[request.rows, list(request.features)]
    ...
    >>> result = pm.OnDemandPredictor(forest, costs, laboratory, early_stopping=True).run(X_test.index[:4])
    4 examples buy concavity
    3 examples buy radius
    1 examples buy concave points
    1 examples buy perimeter
    3 examples buy area
    1 examples buy radius
    3 examples buy concave points
    1 examples buy smoothness
    """

    items: tuple[str, ...]
    features: tuple[str, ...]
    rows: pd.Index[Any]
    price: Fraction
    positions: NDArray[np.int64]
    columns: NDArray[np.int64]
    number: int
    attempt: int = 1

    def __str__(self) -> str:
        bought = ", ".join(map(repr, self.items)) or "nothing"
        named = "item" if len(self.items) == 1 else "items"
        return f"request {self.number} ({named} {bought} for {len(self.rows)} row{'s' * (len(self.rows) != 1)})"


Acquire = Annotated[Callable[[Request], Any], "a function that serves a Request; for a full table from_table(X)"]
"""Serves a request, or returns an awaitable that does, in one of the forms that `prunemodels.on_demand.answers.read` takes."""


def from_table(X: Any) -> TableLookup:
    """An `acquire` that looks values up in a full table: for tests, simulations, and features that are at hand.

    Parameters
    ----------
    X
        shape (n, n_features). Columns of a table are found by the features' names, and by position where the model was trained
        without names; rows of a pandas table by their labels. All else is looked up by position. Masked cells of a ``numpy.ma``
        array are unavailable.

    Raises
    ------
    InvalidInputError
        if X has labels or names twice, or is not two-dimensional.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, costs, forest
    >>> acquire = pm.on_demand.from_table(X_test)
    >>> print(pm.OnDemandPredictor(forest, costs, acquire).run(X_test.index))
    OnDemandResult(169 rows, mean cost 16.4497, 15 requests)
    """
    by_label, table = isinstance(X, pd.DataFrame), pandas_of(X)
    if isinstance(table, pd.DataFrame):
        for labels, what in ((table.index, "row"), (table.columns.map(str), "column")):
            if not labels.is_unique:
                twice = labels[labels.duplicated()].tolist()[0]
                raise InvalidInputError(f"from_table: X has the {what} {twice!r} twice; give each label once")
        return TableLookup(table.set_axis([str(c) for c in table.columns], axis=1), by_label)
    cells = X.to_numpy() if hasattr(X, "to_numpy") else np.ma.asarray(X) if np.ma.isMaskedArray(X) else np.asarray(X)
    if cells.ndim != 2:
        raise InvalidInputError(f"from_table: X has shape {cells.shape}; give a table with one row an example")
    return TableLookup(cells, by_label)


@dataclass(frozen=True, eq=False)
class TableLookup:
    """Serves requests from a table, see `from_table`."""

    cells: Any  # a pandas table whose columns have texts as names, or an array
    by_label: bool  # whether rows are found by their labels; False: by position

    @property
    def names(self) -> set[str] | None:
        """The names of the columns; None: they have none."""
        return {*self.cells.columns} if isinstance(self.cells, pd.DataFrame) else None

    def check(self, names: Sequence[str], everything: Sequence[str], *, arrays: bool) -> None:
        """Refuse a table without the features that a model may ask for, by name, among all features of the model.

        `arrays`: whether arrays hold what a user has; False: they hold codes, and the model is asked for categories.
        """
        if not isinstance(self.cells, pd.DataFrame):
            if not arrays:
                raise InvalidInputError(
                    "from_table has an array, which would hold codes of categories; the model was trained on a table with the "
                    "categories themselves, give the table"
                )
            return
        absent = [name for name in names if name not in self.cells.columns]
        if absent and not (self._unnamed(everything) and self.cells.shape[1] == len(everything)):
            shown = ", ".join(map(repr, self.cells.columns[:8].tolist()))
            raise InvalidInputError(f"from_table: X has no column {absent[0]!r}, which the model reads; it has {shown}")

    def _unnamed(self, everything: Sequence[str]) -> bool:
        """Whether these are the names of features that have none, and the table has other ones."""
        return all(name == f"x{f}" for f, name in enumerate(everything)) and not {*everything} & {*self.cells.columns}

    def __call__(self, request: Request) -> Any:
        """The values of a request."""
        if not isinstance(self.cells, pd.DataFrame):
            return self.cells[request.positions[:, None], request.columns]
        names = list(request.features)
        if not all(name in self.cells.columns for name in names):  # features without names are found by position
            renamed = self.cells.iloc[:, request.columns].set_axis(names, axis=1)
            return replace(self, cells=renamed)(request)
        if self.by_label:
            return self.cells.loc[request.rows, names]
        rows = self.cells[names].iloc[request.positions].set_axis(request.rows)
        # the numbers that other tables give to categories mean nothing
        return rows.astype(dict.fromkeys(rows.select_dtypes("category").columns, object))


class Resumable(Protocol):
    """A walk that was broken off: it has kept what was delivered, and goes on."""

    def run(self) -> Any:
        """Ask for what is still missing."""
        ...

    def result(self) -> Any:
        """What is known now."""
        ...


class AcquisitionFailedError(PruneModelsError, RuntimeError):
    """`acquire` raised an exception (the ``__cause__``), or its answer is refused, or leaves values out that were asked for.

    Attributes
    ----------
    request
        the request that failed. Of an answer that leaves values out, what came is kept and paid; else nothing is.
    walk
        the walk, with all that was bought before and, where several requests were in flight, what the others brought. See
        ``walk.result()``; ``walk.run()`` goes on, and asks again only for what was not delivered.
    others
        failures of requests that were in flight at the same time.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, costs, forest
    >>> def broken(request):
    ...     raise ConnectionError("no answer")
    ...
    >>> try:
    ...     pm.OnDemandPredictor(forest, costs, broken).run(X_test.index)
    ... except pm.errors.AcquisitionFailedError as error:
    ...     print(repr(error.__cause__), "at request", error.request.number)
    ...
    ConnectionError('no answer') at request 0
    """

    def __init__(self, message: str, request: Request, walk: Resumable) -> None:
        super().__init__(message)
        self.request = request
        self.walk = walk
        self.others: tuple[AcquisitionFailedError, ...] = ()


class InterruptedAcquisitionError(PruneModelsError, KeyboardInterrupt):
    """The user stopped the walk (Ctrl-C); what was delivered is kept.

    Attributes
    ----------
    walk
        the walk, with all that was bought before; ``walk.run()`` goes on.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, costs, forest
    >>> def stopped(request):
    ...     raise KeyboardInterrupt
    ...
    >>> try:
    ...     pm.OnDemandPredictor(forest, costs, stopped).run(X_test.index)
    ... except pm.errors.InterruptedAcquisitionError as error:
    ...     print(error.walk.result().requests)
    ...
    1
    """

    def __init__(self, message: str, walk: Resumable) -> None:
        super().__init__(message)
        self.walk = walk
