"""A limit of what predictions use: the one thing that a user writes to ask for less.

mean over some examples of what each of them uses  <=  B        a currency, the share that asks for an item, a group      (1)
what each of some examples uses                    <=  B        the dearest prediction                                    (2)
splits, leaves, or items that anybody asks for     <=  B        the size of the forest                                    (3)

What B allows is read here, and nowhere else. An int, a fraction or a decimal is meant as it is. A float stands for every number
that rounds to it, so a limit that was printed or stored as a float allows the pruning whose cost it is:

    cost <= B        where B is exact                      float(cost) <= B        where B is a float                       (4)

13/3 as a float lies below 13/3, and yet a cost of 13/3 is within it. Engines compare integers, so they take a fraction for B:

    the largest multiple of a unit that rounds to B, or the decimal that B denotes, if there is none                        (5)

If all costs are multiples of the unit, (5) allows the same prunings as (4).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Annotated, Any, SupportsFloat, cast

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, Price, exact
from formulations.instance.cost_sample import in_order_of
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import n_examples
from formulations.instance.usage import Usage
from formulations.shown import shown

SIZES = ("splits", "leaves", "items")
"""What (3) counts."""


Budget = Annotated[Price, "a number (for groups and other currencies limits=[pm.Limit(B, rows=rows), ...])"]
"""The largest mean cost: the short form of one limit."""


@checked
@dataclass(frozen=True, eq=False)
class Limit:
    """At most so much of something: one row of LP1.

    Parameters
    ----------
    at_most
        B >= 0. A float also allows what rounds to it.
    of
        what is limited:

        - ``"cost"``: what predictions cost, evaluation included, as a budget limits it;
        - the name of one of the currencies of `CostItems`, such as ``"minutes"``;
        - the name of an item: the share of examples that ask for it, at most 1;
        - a mapping from items to amounts: a currency of its own;
        - ``"splits"`` and ``"leaves"`` of the pruned forest, or ``"items"``: how many priced items anybody asks for.
    rows
        the examples of the cost sample that it is about: a bool mask, their numbers, or the name of a column of the cost sample
        that holds such a mask. A mask with an index is put in the order of the table. Default: all. An item that is paid once for
        all counts in full, whoever asks for it.
    each
        True: no single one of these examples may use more. Default: their mean may not.
    name
        in answers and errors. Default: made from the other arguments.

    Raises
    ------
    InvalidInputError
        for numbers that are negative or no numbers, and for examples of a limit that counts the forest's size.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> pm.solve(problem, limits=[pm.Limit(10), pm.Limit(0.5, "texture"), pm.Limit(30, "splits")])
    LimitedSolution(optimal, cost 10 of 10, texture 0 of 0.5, splits 9 of 30, error 0.137, bound 0.137)
    """

    at_most: Price
    of: str | Mapping[str, Price] = "cost"
    rows: Any = None
    each: bool = False
    name: str | None = None

    def __post_init__(self) -> None:
        exact(self.at_most, "at_most")
        if isinstance(self.of, str):
            if self.of in SIZES and (self.rows is not None or self.each):
                raise InvalidInputError(
                    f"a limit of {self.of} is about the forest, not about examples; leave `rows` and `each` out"
                )
        else:
            for item, amount in self.of.items():
                exact(amount, f"of[{item!r}]")

    @classmethod
    @checked
    def parse(cls, text: str) -> Limit:
        """A limit from ``"30"``, ``"minutes=30"`` or ``"mri<=0.3"``, as the command line takes it.

        Raises
        ------
        InvalidInputError
            for a text of another form.
        """
        of, sign, number = text.replace("<=", "=").rpartition("=")
        try:
            at_most = Fraction(number.strip())
        except (ValueError, ZeroDivisionError) as error:
            raise InvalidInputError(f"limit is {text!r}; write a number, as 'minutes=30' or 'mri<=0.3'") from error
        return cls(at_most, of.strip()) if sign else cls(at_most)

    @property
    def title(self) -> str:
        """`name`, or words for what is limited."""
        if self.name is not None:
            return self.name
        what = self.of if isinstance(self.of, str) else " + ".join(self.of)
        whose = "" if self.rows is None else f" of {self.rows if isinstance(self.rows, str) else 'some rows'}"
        return f"{'each ' if self.each else ''}{what}{whose}"

    @property
    def is_plain(self) -> bool:
        """Whether it is a budget: the mean cost of all examples."""
        return self.of == "cost" and self.rows is None and not self.each

    def __repr__(self) -> str:
        return f"Limit({self.title} <= {float(exact(self.at_most, 'at_most')):.6g})"


@dataclass(frozen=True, eq=False)
class Meter:
    """What a limit counts, exactly; every number >= 0."""

    item: tuple[Fraction, ...]  # for each of the M items: what an example that asks for it uses
    once: tuple[Fraction, ...]  # for each of the M items: what is used as soon as anybody asks for it
    evaluation: tuple[Fraction, ...]  # for each of the F features: what an example uses that passes a split on it
    split: Fraction = Fraction(0)  # what each kept split adds
    constant: Fraction = Fraction(0)  # what is used in any case


def meter_of(limit: Limit, costs: CostItems, evaluation: tuple[Fraction, ...], n_trees: int, name: str) -> Meter:
    """What a limit counts of an instance with these items, prices of evaluation and trees."""
    nothing, free = (Fraction(0),) * costs.n_items, (Fraction(0),) * len(evaluation)
    of, currencies = limit.of, costs.currencies or {}
    if of == "splits":
        return Meter(nothing, nothing, free, split=Fraction(1))
    if of == "leaves":  # trees are binary: one leaf more than splits
        return Meter(nothing, nothing, free, split=Fraction(1), constant=Fraction(n_trees))
    if of == "items":
        return Meter(nothing, tuple(Fraction(int(p > 0)) for p in costs.prices), free)
    if of == "cost":
        amounts = costs.prices
    elif isinstance(of, str) and of in currencies:
        amounts = currencies[of]
    else:
        shares = {of: 1} if isinstance(of, str) else of
        for item in shares:
            if item not in costs.names:
                known = [*("cost", *SIZES), *currencies, *costs.names]
                raise InvalidInputError(
                    f"{name}: there is no {shown(item)} to limit; there are {', '.join(known[:12])}"
                    f"{', ...' if len(known) > 12 else ''}; a second currency comes from CostItems.with_currency, or from a "
                    "column of a table of prices whose name begins with cost_"
                )
        amounts = tuple(exact(shares.get(item, 0), f"{name}: of[{item!r}]") for item in costs.names)
        if isinstance(of, str):  # a share of examples, whoever pays
            return Meter(amounts, nothing, free)
    once = tuple(a if o else Fraction(0) for a, o in zip(amounts, costs.paid_once, strict=True))
    by_example = tuple(a - o for a, o in zip(amounts, once, strict=True))
    return Meter(by_example, once, evaluation if of == "cost" else free)


FINE = Fraction(1, 2**64)
"""Unit of (5) where that of the costs is not known, as a share of the distance of two floats."""


def budget_limit(budget: object, name: str = "budget", *, unit: Fraction | None = None) -> Fraction:
    """(5). `name`: of the budget, for the error. `unit`: of the costs; None: not known."""
    limit = exact(budget, name)
    if isinstance(budget, Rational | Decimal):
        return limit
    number = float(cast("SupportsFloat", budget))
    next_number = math.nextafter(number, math.inf)
    if number == 0 or math.isinf(next_number):
        return limit
    step = Fraction(next_number) - Fraction(number)
    unit = unit or step * FINE
    most = (Fraction(number) + step / 2) // unit * unit
    if float(most) > number:  # half-way between two floats: the even one is the nearest
        most -= unit
    return most if float(most) == number else limit


def limit_of_mean_cost(problem: PruningProblem, budget: object, name: str = "budget") -> Fraction:
    """(5) for the mean cost of an example, in the unit of the prices."""
    return budget_limit(budget, name, unit=problem.numbers.price_unit if problem.numbers.exact else None)


def first_alike(problem: PruningProblem, members: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places among the members of one example for each way through the forest, ascending."""
    ensemble, routing = problem.ensemble, problem.usage.routing
    ends = np.empty((ensemble.n_trees, problem.usage.n_rows), dtype=np.int64)
    for h in np.flatnonzero(~ensemble.is_split).tolist():
        ends[ensemble.tree_of[h], routing.order[ensemble.tree_of[h], routing.start[h] : routing.stop[h]]] = h
    _, first = np.unique(ends[:, members], axis=1, return_index=True)
    return np.sort(first)


def members_of(usage: Usage, limit: Limit, name: str) -> NDArray[np.int64]:
    """Places of a limit's examples among those of positive weight."""
    if limit.rows is None:
        return np.arange(usage.n_rows)
    n = n_examples(usage.X)
    place = np.full(n, -1, dtype=np.int64)
    place[usage.rows] = np.arange(usage.n_rows)
    rows = _column(usage, limit.rows, name) if isinstance(limit.rows, str) else limit.rows
    if getattr(rows, "dtype", None) == np.bool_:
        rows = in_order_of(usage.X, rows, f"{name}: the mask")
    mine = place[_row_numbers(rows, n, name)]
    mine = mine[mine >= 0]
    if mine.size == 0:
        raise InvalidInputError(f"{name} has no row of positive weight: it has no mean; leave it out")
    return mine


def _column(usage: Usage, name: str, limit: str) -> NDArray[np.bool_]:
    """A column of the cost sample as a mask."""
    X: Any = usage.X
    columns = list(X.columns) if hasattr(X, "columns") else list(usage.ensemble.column_names)
    if name not in columns:
        raise InvalidInputError(f"{limit}: the cost sample has no column {name!r}; give a bool mask, or numbers of rows")
    column = X[name] if hasattr(X, "columns") else X[:, [columns.index(name)]]
    values = np.asarray(column.toarray() if hasattr(column, "toarray") else column).ravel()
    if not np.isin(values, (0, 1)).all():
        raise InvalidInputError(f"{limit}: the column {name!r} is no mask, it holds more than 0 and 1; give a bool mask")
    return values.astype(bool)


def _row_numbers(rows: object, n: int, name: str) -> NDArray[np.int64]:
    """Numbers of rows, from a mask or from numbers."""
    given = np.asarray(rows)
    if given.ndim != 1:
        raise InvalidInputError(f"{name}: rows has shape {given.shape}; give a bool mask of {n} rows, or row numbers")
    if given.dtype == np.bool_:
        if given.size != n:
            raise InvalidInputError(f"{name}: the mask has {given.size} entries, the cost sample {n} rows; give one for each")
        return np.flatnonzero(given)
    if given.size and not np.issubdtype(given.dtype, np.integer):
        raise InvalidInputError(f"{name}: rows is {given.dtype}; give a bool mask of {n} rows, or row numbers")
    numbers = given.astype(np.int64)
    bad = numbers[(numbers < 0) | (numbers >= n)]
    if bad.size:
        raise InvalidInputError(f"{name}: there is no row {bad[0]} in a cost sample of {n} rows; give numbers from 0 to {n - 1}")
    values, times = np.unique(numbers, return_counts=True)
    if (times > 1).any():
        raise InvalidInputError(f"{name}: row {values[times > 1][0]} occurs twice; name each row once")
    return values
