"""What an example pays for: items with prices, and which items a feature needs.

An example pays an item once, however many trees and features need it. Plain feature costs are one item a
feature; a group of features computed together shares one item; a discount ("the blood is drawn once") is an
item of the feature's own plus one that the group shares.

Prices are kept as exact fractions of the decimals that were written: 7.27 is 727/100.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from numbers import Rational, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import MOST_DECIMALS, checked
from formulations.errors import InvalidInputError
from formulations.shown import shown

Price = float | int | Fraction | Decimal

RESERVED = ("cost", "splits", "leaves", "items")
"""What a `Limit` can be about besides currencies and items."""

EvaluationCost = Price | Sequence[Price] | NDArray[np.float64]
"""Price of evaluating one split: one for all features, or one for each."""


LEAST, LARGEST = Fraction(math.ulp(0.0)), Fraction(sys.float_info.max)
"""Numbers outside are refused: costs and values are reported as floats."""

_FLOATS = f"give 0 or a number that a float can hold, {float(LEAST):.3g} to {float(LARGEST):.3g} in size: choose another unit"


def fraction(value: object, name: str, wanted: str = "a finite number") -> Fraction:
    """The fraction that a number stands for; `name` and what is `wanted` appear in the error.

    A float counts as the shortest decimal that denotes it, so 0.1 is 1/10.
    """
    if isinstance(value, Rational):  # ints and Fractions
        number = Fraction(int(value.numerator), int(value.denominator))  # NumPy's integers would overflow
    elif isinstance(value, Decimal) and value.is_finite():
        if abs(value.adjusted()) > MOST_DECIMALS:  # its fraction would have as many digits
            raise InvalidInputError(f"{name} is {shown(value)}; {_FLOATS}")
        number = Fraction(value)
    elif isinstance(value, Real) and math.isfinite(float(value)):
        number = Fraction(repr(float(value)))
    else:
        raise InvalidInputError(f"{name} is {value!r}; give {wanted}")
    if number and not LEAST <= abs(number) <= LARGEST:
        raise InvalidInputError(f"{name} is {shown(value)}; {_FLOATS}")
    return number


def exact(value: object, name: str) -> Fraction:
    """A `fraction` that is not negative."""
    number = fraction(value, name, "a finite number >= 0")
    if number < 0:
        raise InvalidInputError(f"{name} is {value!s}, negative; give a number >= 0")
    return number


@checked
@dataclass(frozen=True, eq=False)
class CostItems:
    """M cost items and the set ``items(f)`` of each of F features.

    Parameters
    ----------
    names
        the M items' names.
    prices
        the M prices, in whatever unit the user counts (money, seconds, needles), each >= 0.
    needs
        for each of the F features the items (indices) that it needs, without repeats.
    once
        for each item whether it is paid once for all examples together (a licence, a model to load) instead of
        once by each example that uses it. None: no such item.
    columns
        where features are made from raw columns: for each of these the items that it needs. None: features are columns.
    currencies
        by name what each of the M items takes of something else than the prices count: minutes, millilitres. None: no such thing.

    Raises
    ------
    InvalidInputError
        for negative or non-finite prices, unknown items, or lengths that differ.

    Examples
    --------
    >>> import prunemodels as pm
    >>> samples = pm.CostItems.grouped(["blood", "blood", "scan"], {"blood": 7, "scan": 90})
    >>> samples.names  # features 0 and 1 are one purchase
    ('blood', 'scan')
    >>> samples.needs
    ((0,), (0,), (1,))
    """

    names: tuple[str, ...]
    prices: tuple[Fraction, ...]
    needs: tuple[tuple[int, ...], ...]
    once: tuple[bool, ...] | None = None
    columns: tuple[tuple[int, ...], ...] | None = None
    currencies: Mapping[str, tuple[Fraction, ...]] | None = None

    def __post_init__(self) -> None:
        if len(self.names) != len(self.prices):
            raise InvalidInputError(f"costs: {len(self.names)} item names for {len(self.prices)} prices")
        if self.once is not None and len(self.once) != len(self.names):
            raise InvalidInputError(f"costs: `once` has {len(self.once)} entries for {len(self.names)} items")
        prices = tuple(exact(p, f"costs: the price of {n!r}") for n, p in zip(self.names, self.prices, strict=True))
        object.__setattr__(self, "prices", prices)
        for f, items in enumerate(self.needs):
            unknown = [m for m in items if not 0 <= m < len(self.names)]
            if unknown or len(set(items)) != len(items):
                raise InvalidInputError(
                    f"costs: feature {f} needs items {items}; name each of 0 to {len(self.names) - 1} at most once"
                )

    @property
    def n_items(self) -> int:
        """M, the number of items."""
        return len(self.names)

    @property
    def n_features(self) -> int:
        """F, the number of features."""
        return len(self.needs)

    @property
    def by_column(self) -> tuple[tuple[int, ...], ...]:
        """The items of each column that is asked for: of each raw column where features are made from these, else `needs`."""
        return self.needs if self.columns is None else self.columns

    @cached_property
    def price(self) -> NDArray[np.float64]:
        """The prices as float64, shape (M,); computed once, not to be written to."""
        return np.array([float(p) for p in self.prices], dtype=np.float64)

    @cached_property
    def paid_once(self) -> NDArray[np.bool_]:
        """bool, shape (M,): items paid once for all examples; computed once, not to be written to."""
        return np.zeros(self.n_items, dtype=bool) if self.once is None else np.array(self.once, dtype=bool)

    @checked
    def needs_of(self, features: Sequence[int] | NDArray[np.int64]) -> NDArray[np.bool_]:
        """bool, shape (features, M): which items each of these features needs."""
        table = np.zeros((len(features), self.n_items), dtype=bool)
        for k, f in enumerate(features):
            table[k, list(self.needs[f])] = True
        return table

    def __getstate__(self) -> dict[str, object]:
        """The fields alone, so that a file does not depend on which arrays were computed before."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @checked
    def check_features(self, n_features: int) -> None:
        """Refuse a forest with another number of features.

        Raises
        ------
        InvalidInputError
            if the numbers differ; the text has both.
        """
        if self.n_features != n_features:
            raise InvalidInputError(f"costs has prices for {self.n_features} features, the forest was trained on {n_features}")

    @checked
    def of_features(self, features: Sequence[int]) -> CostItems:
        """The items of some features, in that order; items that none of them needs are left out."""
        needs = [self.needs[f] for f in features]
        used = sorted({m for items in needs for m in items})
        place = {m: k for k, m in enumerate(used)}
        return replace(
            self,
            names=tuple(self.names[m] for m in used),
            prices=tuple(self.prices[m] for m in used),
            needs=tuple(tuple(place[m] for m in items) for items in needs),
            once=None if self.once is None else tuple(self.once[m] for m in used),
            currencies={name: tuple(of[m] for m in used) for name, of in (self.currencies or {}).items()} or None,
        )

    @checked
    def of_made(self, sources: Sequence[Sequence[int]]) -> CostItems:
        """The prices of features that are made from columns with these prices.

        A feature needs the items of all columns that it is made from. Each is paid once, as ever.

        Parameters
        ----------
        sources
            for each feature the columns that it is made from.

        Raises
        ------
        InvalidInputError
            for a column without prices.

        Examples
        --------
        >>> import prunemodels as pm
        >>> tests = pm.CostItems.plain([7, 90], ["blood", "scan"])
        >>> tests.of_made([[0], [0, 1]]).needs  # the second feature is computed from both
        ((0,), (0, 1))
        """
        for f, columns in enumerate(sources):
            for column in columns:
                if not 0 <= column < self.n_features:
                    raise InvalidInputError(f"costs: feature {f} is made from column {column}, there are {self.n_features}")
        needs = tuple(tuple(dict.fromkeys(m for c in columns for m in self.needs[c])) for columns in sources)
        return replace(self, needs=needs, columns=self.needs)

    @checked
    def with_currency(self, name: str, amounts: Mapping[str, Price] | Sequence[Price] | NDArray[np.float64]) -> CostItems:
        """The same items, of which each takes an amount of a second currency, for `Limit`.

        Parameters
        ----------
        name
            of the currency.
        amounts
            >= 0: by the items' names, where items that are left out take nothing, or one for each item.

        Raises
        ------
        InvalidInputError
            for an unknown item, an amount that is negative or no number, and a name that limits have another meaning for.

        Examples
        --------
        >>> import prunemodels as pm
        >>> tests = pm.CostItems.plain([7, 90], ["blood", "scan"]).with_currency("minutes", {"scan": 45})
        >>> tests.currencies["minutes"]
        (Fraction(0, 1), Fraction(45, 1))
        """
        if name in RESERVED or name in self.names:
            what = "an item" if name in self.names else "a word of its own"
            raise InvalidInputError(f"costs: the currency {name!r} has the name of {what} for limits; give it another name")
        if isinstance(amounts, Mapping):
            for item in amounts:
                if item not in self.names:
                    raise InvalidInputError(
                        f"costs: {name!r} has an amount for {item!r}, which is no item; there are {self.names}"
                    )
            amounts = [amounts.get(item, 0) for item in self.names]
        if len(amounts) != self.n_items:
            raise InvalidInputError(f"costs: {len(amounts)} amounts of {name!r} for {self.n_items} items; give one for each")
        taken = tuple(exact(a, f"costs: {name} of {n!r}") for n, a in zip(self.names, amounts, strict=True))
        return replace(self, currencies={**(self.currencies or {}), name: taken})

    def as_plain(self) -> dict[str, Any]:
        """The prices in lists, numbers and strings, for files; without further currencies."""
        return {
            "names": list(self.names),
            "prices": [str(p) for p in self.prices],
            "needs": [list(n) for n in self.needs],
            "once": None if self.once is None else list(self.once),
            "columns": None if self.columns is None else [list(n) for n in self.columns],
        }

    @classmethod
    @checked
    def from_plain(cls, plain: Mapping[str, Any]) -> CostItems:
        """What `as_plain` wrote; raises KeyError, TypeError or ValueError for anything else."""
        needs, columns = (
            None if plain[key] is None else tuple(tuple(map(int, n)) for n in plain[key]) for key in ("needs", "columns")
        )
        once = None if plain["once"] is None else tuple(map(bool, plain["once"]))
        prices = tuple(map(Fraction, plain["prices"]))
        return cls(tuple(map(str, plain["names"])), prices, needs or (), once, columns)

    def __repr__(self) -> str:
        return f"CostItems({self.n_items} items, {self.n_features} features)"

    @classmethod
    @checked
    def plain(cls, prices: Sequence[Price] | NDArray[np.float64], names: Sequence[str] | None = None) -> CostItems:
        """One item a feature: feature f costs ``prices[f]``."""
        labels = _labels(names, len(prices))
        exact_prices = tuple(exact(p, f"costs: the price of {n!r}") for n, p in zip(labels, prices, strict=True))
        return cls(labels, exact_prices, tuple((f,) for f in range(len(labels))))

    @classmethod
    @checked
    def from_items(
        cls,
        prices: Mapping[str, Price],
        needs: Sequence[Iterable[str]],
        once: Iterable[str] = (),
    ) -> CostItems:
        """Items by name: ``prices[item]``, and for each feature the names of the items that it needs."""
        names = tuple(prices)
        index = {name: m for m, name in enumerate(names)}
        for f, items in enumerate(needs):
            for item in items:
                if item not in index:
                    raise InvalidInputError(f"costs: feature {f} needs the item {item!r}, which has no price")
        paid_once = set(once)
        unknown = sorted(paid_once - set(names))
        if unknown:
            raise InvalidInputError(f"costs: `once` names the item {unknown[0]!r}, which has no price")
        return cls(
            names,
            tuple(exact(p, f"costs: the price of {n!r}") for n, p in prices.items()),
            tuple(tuple(dict.fromkeys(index[item] for item in items)) for items in needs),
            tuple(name in paid_once for name in names),
        )

    @classmethod
    @checked
    def grouped(cls, groups: Sequence[str], prices: Mapping[str, Price]) -> CostItems:
        """Features of one group share one item: feature f needs ``groups[f]`` at ``prices[groups[f]]``."""
        return cls.from_items(prices, [(g,) for g in groups])

    @classmethod
    @checked
    def discounted(
        cls,
        cost: Sequence[Price],
        discount_cost: Sequence[Price],
        group: Sequence[str | None],
        names: Sequence[str] | None = None,
    ) -> CostItems:
        """Prices with a discount: ``cost[f]`` for the first feature of its group, then ``discount_cost[f]``.

        The difference is the price of an item that the group shares, so it must be the same over the group.
        A group of None (or an empty string) means no discount.
        """
        labels = _labels(names, len(cost))
        prices: dict[str, Price] = {}
        needs: list[tuple[str, ...]] = []
        for label, full, reduced, shared in zip(labels, cost, discount_cost, group, strict=True):
            own = exact(full, f"costs: the cost of {label!r}")
            if not shared:
                prices[label] = own
                needs.append((label,))
                continue
            rest = exact(reduced, f"costs: the discount_cost of {label!r}")
            item = f"shared:{shared}"
            if own < rest:
                raise InvalidInputError(f"costs: {label!r} has discount_cost {reduced} above its cost {full}")
            if prices.setdefault(item, own - rest) != own - rest:
                raise InvalidInputError(
                    f"costs: the discount of {label!r} is {float(own - rest)}, the other features of the group "
                    f"{shared!r} have {float(prices[item])}; a shared item has one price"
                )
            prices[label] = rest
            needs.append((label, item))
        return cls.from_items(prices, needs)


def _labels(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """The names given, or x0, x1, ..."""
    if names is None:
        return tuple(f"x{f}" for f in range(count))
    if len(names) != count:
        raise InvalidInputError(f"costs: {len(names)} names for {count} prices")
    return tuple(str(n) for n in names)
