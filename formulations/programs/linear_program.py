"""A linear or integer program as arrays, with names for its rows and columns.

    minimise  cost x + offset      row_lower <= A x <= row_upper,   lower <= x <= upper,   x_j integer where integer_j     (1)

The names are those of the Pyomo models, ``w_t[0,1,3]``. They are made when asked for: ten million strings would weigh more than
the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

INTEGRAL = 1e-6
"""A value of a point counts as an integer if it is this close to one; engines run with the same tolerance."""

FOR_ALL = -1
"""In place of a row's index in a `Block`: the item is paid once for all rows."""


@dataclass(frozen=True, eq=False)
class Block:
    """Rows or columns of one kind: a component of the model and the indices of its members."""

    name: str  # the component: ``z``, ``w``, ``coupling``
    # one array for each part of the index, of one length; empty for a component without an index. `FOR_ALL` is written ``all``.
    index: tuple[NDArray[np.integer[Any]], ...]

    def __len__(self) -> int:
        return len(self.index[0]) if self.index else 1

    def key(self, k: int) -> tuple[int | str, ...]:
        """The k-th index."""
        return tuple("all" if part[k] == FOR_ALL else int(part[k]) for part in self.index)

    def keys(self) -> list[tuple[int | str, ...]]:
        """All indices in their order."""
        return [self.key(k) for k in range(len(self))]

    def label(self, k: int) -> str:
        """The k-th name."""
        return f"{self.name}[{','.join(map(str, self.key(k)))}]" if self.index else self.name


@dataclass(frozen=True, eq=False)
class Names(Sequence[str]):
    """The names of all rows, or of all columns: blocks one after the other."""

    blocks: tuple[Block, ...]

    def __len__(self) -> int:
        return sum(len(block) for block in self.blocks)

    def __getitem__(self, k: Any) -> Any:
        if isinstance(k, slice):
            return [self[i] for i in range(*k.indices(len(self)))]
        place = int(k) + (len(self) if k < 0 else 0)
        for block in self.blocks:
            if 0 <= place < len(block):
                return block.label(place)
            place -= len(block)
        raise IndexError(f"{k} of {len(self)} names")

    def __iter__(self) -> Iterator[str]:
        for block in self.blocks:
            yield from (block.label(k) for k in range(len(block)))

    def has(self, component: str) -> bool:
        """Whether there is a block of that name."""
        return any(block.name == component for block in self.blocks)

    def of(self, component: str) -> slice:
        """The places of a block."""
        start = 0
        for block in self.blocks:
            if block.name == component:
                return slice(start, start + len(block))
            start += len(block)
        raise KeyError(f"there is no {component!r} here; there are {', '.join(b.name for b in self.blocks)}")


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """(1): n columns, r rows.

    Parameters
    ----------
    cost, offset
        float64, shape (n,), and a constant.
    matrix
        A, shape (r, n), compressed by rows.
    row_lower, row_upper
        shape (r,), infinite where there is no bound.
    lower, upper
        shape (n,).
    integer
        bool, shape (n,).
    columns, rows
        the names.
    """

    cost: NDArray[np.float64]
    offset: float
    matrix: sparse.csr_array
    row_lower: NDArray[np.float64]
    row_upper: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    integer: NDArray[np.bool_]
    columns: Names
    rows: Names

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self.row_lower), len(self.cost)

    def __repr__(self) -> str:
        rows, columns = self.shape
        kind = "integer program" if self.integer.any() else "linear program"
        return f"LinearProgram({kind}: {rows:,} rows, {columns:,} columns, {self.matrix.nnz:,} nonzeros)"


@dataclass(frozen=True, eq=False, repr=False)
class Named(Mapping[str, float]):
    """Numbers by name: ``duals["coupling[0,1,3]"]``."""

    names: Names
    amounts: NDArray[np.float64]

    def __getitem__(self, name: str) -> float:
        component = name.partition("[")[0]
        place = self.names.of(component)
        for k in np.flatnonzero(self._candidates(name)):
            if self.names[place.start + int(k)] == name:
                return float(self.amounts[place.start + int(k)])
        raise KeyError(f"there is no {name!r}; {component} is numbered like {self.names[place.start]!r}")

    def _candidates(self, name: str) -> NDArray[np.bool_]:
        """Members whose last index is the name's: a few, without writing out all names."""
        component, _, inside = name.partition("[")
        block = next(b for b in self.names.blocks if b.name == component)
        last = inside.rstrip("]").rpartition(",")[2]
        if not block.index or not (last == "all" or last.isdecimal()):
            return np.ones(len(block), dtype=bool)
        found: NDArray[np.bool_] = block.index[-1] == (FOR_ALL if last == "all" else int(last))
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        first = ", ".join(f"{self.names[k]} = {self.amounts[k] + 0:.6g}" for k in range(min(3, len(self))))
        return f"Named({len(self):,} numbers: {first}{', ...' if len(self) > 3 else ''})"
