"""Which classes models find: the rule that pages, terminals and JSON follow before they name a saving.

    found_k       of the examples of class k, the share that is called k                                                  (1)
    sensitivity   found_k of the class that is to be found, the positive one;       missed = 1 - sensitivity              (2)
    specificity   of all others, the share that is not called positive;             false alarms = 1 - specificity        (3)

A model that answers one class for everybody has found nothing out, however much it saves and however rare its mistakes are. So
that comes first, then each class that is never found, or that is found less often than before by more than chance explains: the
interval of the difference lies below 0. Intervals are exact, see `prunemodels.statements.mean_bounds`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.shown import Card, Shown
from prunemodels.statements.mean_bounds import PARAMS, MeanInterval, over_groups, paired_share_interval, repeated, share_interval
from prunemodels.statements.wording import MINUS, POINTS, count, interval, share

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

NAMES = ("before", "after")
"""What two models are called that the user has no names for: the same model before and after."""


@dataclass(frozen=True)
class Rate:
    """How many of how many, and the share of the population with its interval."""

    count: int
    of: int
    share: float
    low: float
    high: float

    @property
    def complement(self) -> Rate:
        """The others of the same examples: missed in place of found."""
        return Rate(self.of - self.count, self.of, 1 - self.share, 1 - self.high, 1 - self.low)

    @property
    def per_1000(self) -> str:
        """The share of 1,000 and its interval: ``24 (16 to 35)``."""
        return f"{1000 * self.share:.0f} ({1000 * self.low:.0f} to {1000 * self.high:.0f})"

    def __str__(self) -> str:
        return f"{share(self.share)} ({share(self.low)[:-2]} to {share(self.high)[:-2]})"


@dataclass(frozen=True)
class Found:
    """Of some examples, how many are called by their name: by one model, or before and after; and after less before."""

    name: str
    rates: tuple[Rate, ...]
    change: MeanInterval | None

    def cells(self, label: str) -> tuple[str, ...]:
        """A row of a table."""
        told = tuple(map(str, self.rates))
        if self.change is None:
            return (label, *told)
        return (
            label,
            *told,
            f"{_points(self.change.mean)} ({interval(self.change, _points)}{POINTS if self.change.is_told else ''})",
        )

    def never(self, first: str) -> str:
        """A sentence on a class that is never found; `first` is what the other model is called."""
        before = f"; {first}, {self.rates[0].count:,}" if len(self.rates) > 1 else ""
        return f"Of the {count(self.rates[-1].of, 'example')} that are “{self.name}”, none is found{before}."

    def fewer(self, first: str) -> str:
        """A sentence on a class that is found less often than before, or than by the model `first`."""
        assert self.change is not None
        before, after = self.rates
        least, most = (f"{100 * abs(end):.2g}" for end in (self.change.high, self.change.low))
        return (
            f"“{self.name}” is found less often than {'by ' * (first != NAMES[0])}{first}: "
            f"{after.count:,} of {after.of:,}, {first} {before.count:,} "
            f"({least} to {most}\u00a0points less)."
        )


@dataclass(frozen=True)
class ByClass(Shown):
    """What one model says of labelled examples class by class, or two models: pairs are in the order before, after.

    Parameters
    ----------
    n
        the number of examples of positive weight.
    classes
        (1) of all classes that an example has.
    only
        the one class that a model answers for every example; None where it answers several, or where all examples are of one.
    sensitivity, specificity
        (2) and (3); None with three classes or more of which none was named, and where all examples are of one class.
    missed_of_all, alarms_of_all
        positive examples that are missed, and false alarms, of all examples.
    lost, found
        positive examples that only the first of two models finds, and that only the second does.
    named
        whether the user named the positive class; else it is the rarer of two.
    names
        what the two models are called.
    """

    n: int
    classes: tuple[Found, ...]
    only: tuple[str | None, ...]
    sensitivity: Found | None = None
    specificity: Found | None = None
    missed_of_all: tuple[Rate, ...] = ()
    alarms_of_all: tuple[Rate, ...] = ()
    lost: int = 0
    found: int = 0
    named: bool = False
    names: tuple[str, str] = NAMES

    def _card(self) -> Card:
        header = ("", *self.names, "change") if len(self.only) > 1 else ("", "share (interval)")
        return Card(f"Class by class, on {count(self.n, 'example')}", self.rows(), header, self.notes, self.first)

    @property
    def missed(self) -> tuple[Rate, ...]:
        """Missed, of the positive examples."""
        return () if self.sensitivity is None else tuple(rate.complement for rate in self.sensitivity.rates)

    @property
    def alarms(self) -> tuple[Rate, ...]:
        """False alarms, of the others."""
        return () if self.specificity is None else tuple(rate.complement for rate in self.specificity.rates)

    @property
    def first(self) -> tuple[str, ...]:
        """What is to be read before any saving."""
        told = []
        if self.only[-1] is not None:
            told.append(f"This answers “{self.only[-1]}” for everybody{'; a saving says nothing' * (len(self.only) > 1)}.")
        never = [c.never(self.names[0]) for c in self.classes if c.rates[-1].count == 0]
        found = [c for c in self.classes if c.rates[-1].count and c.change is not None and c.change.high < 0]
        fewer = [c.fewer(self.names[0]) for c in found]
        for sentences in (never, fewer):
            told += sentences[: PARAMS.most_names]
            more = len(sentences) - PARAMS.most_names
            told += [f"The same holds for {count(more, 'more class', 'more classes')}."] if more > 0 else []
        return tuple(told)

    def rows(self) -> tuple[tuple[str, ...], ...]:
        """Rows of a table: (2) and (3), or (1) of each class, those first that are found least often."""
        if self.sensitivity is not None and self.specificity is not None:
            named = (("sensitivity", self.sensitivity), ("specificity", self.specificity))
            return tuple(found.cells(f"{word}: “{found.name}” found") for word, found in named)
        ordered = sorted(self.classes, key=lambda c: c.rates[-1].share)[: PARAMS.most_classes]
        return tuple(c.cells(f"“{c.name}” found, of {c.rates[0].of:,}") for c in ordered)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences below the table: mistakes of both kinds among 1,000 examples."""
        if self.sensitivity is None:
            more = len(self.classes) - PARAMS.most_classes
            return (f"{count(more, 'more class is', 'more classes are')} found as often or more often.",) if more > 0 else ()
        name = self.sensitivity.name
        missed, alarms = (
            rates[-1].per_1000 + (f", {self.names[0]} {rates[0].per_1000}" if len(rates) > 1 else "")
            for rates in (self.missed_of_all, self.alarms_of_all)
        )
        return (f"Of 1,000 such examples, “{name}” is missed for {missed}; said by mistake for {alarms}.",)

    @property
    def choice(self) -> str:
        """How the class to be found was chosen where the user named none; empty otherwise."""
        if self.sensitivity is None or self.specificity is None or self.named:
            return ""
        return (
            f"“{self.sensitivity.name}”, the rarer of two classes, is taken for the one to be found; --positive "
            f"{shlex.quote(self.specificity.name)} takes the other"
        )


def _points(x: float) -> str:
    """A difference of shares in percentage points, with its sign."""
    return f"{100 * x:+.1f}".replace("-", MINUS)


def by_class(
    classes: NDArray[Any] | None,
    truth: NDArray[Any],
    said: Sequence[NDArray[Any]],
    weights: Floats,
    confidence: float,
    positive: Any = None,
    names: tuple[str, str] = NAMES,
    groups: NDArray[np.int64] | None = None,
) -> ByClass | None:
    """Judge the labels that one model, or one before and one after, said of examples of positive weight; None for numbers.

    `classes` are the labels that the models know, None where they predict numbers. A positive class that they do not know, or
    that no example or every one has, is refused. `groups`: shape (N,): intervals count groups, see
    `prunemodels.statements.mean_bounds`.
    """
    if classes is None:
        if positive is not None:
            raise InvalidInputError(f"positive is {positive!r}, and the model predicts numbers; leave it out")
        return None
    labels, groups = [str(label) for label in classes.tolist()], repeated(groups)

    def over(x: Floats, at: Flags) -> tuple[Floats, Floats]:
        """The values, or the means of groups, of some examples, and their weights."""
        if groups is None:
            return x[at], weights[at]
        (means,), total = over_groups([x[at]], weights[at], groups[at])
        return means, total

    def rate(hits: Flags, at: Flags) -> Rate:
        found = share_interval(*over(hits.astype(np.float64), at), confidence)
        return Rate(int(hits[at].sum()), int(at.sum()), found.mean, found.low, found.high)

    def found(name: str, right: Sequence[Flags], at: Flags) -> Found:
        change = None
        if len(right) > 1:
            change = paired_share_interval(*over(right[1].astype(np.float64) - right[0], at), confidence)
        return Found(name, tuple(rate(hits, at) for hits in right), change)

    # class by class
    members = [truth == label for label in classes]
    right = [answers == truth for answers in said]
    seen = tuple(found(name, right, at) for name, at in zip(labels, members, strict=True) if at.any())
    only = (str(answers[0]) if len(seen) > 1 and (answers == answers[0]).all() else None for answers in said)
    one = ByClass(truth.size, seen, tuple(only), names=names)
    # of the positive class: who is ill, and who is called ill
    k = positive_class(classes, truth, weights, positive)
    if k is None:
        return one
    ill, called = members[k], [answers == classes[k] for answers in said]
    everybody = np.ones(truth.size, dtype=bool)
    return replace(
        one,
        sensitivity=found(labels[k], called, ill),
        specificity=found(labels[1 - k] if len(labels) == 2 else f"not {labels[k]}", [~c for c in called], ~ill),
        missed_of_all=tuple(rate(ill & ~c, everybody) for c in called),
        alarms_of_all=tuple(rate(~ill & c, everybody) for c in called),
        lost=int((called[0] & ~called[-1] & ill).sum()),
        found=int((~called[0] & called[-1] & ill).sum()),
        named=positive is not None,
    )


def positive_class(classes: NDArray[Any], truth: NDArray[Any], weights: Floats, positive: Any = None) -> int | None:
    """The place of the class to be found: the named one, else the rarer of two; None where no class is one."""
    names = [str(label) for label in classes.tolist()]
    if positive is None:
        ill = truth == classes[-1]
        return None if len(names) != 2 or ill.all() or not ill.any() else int(np.average(ill, weights=weights) <= 0.5)
    if str(positive) not in names:
        raise InvalidInputError(f"positive is {positive!r}, which is none of the classes {names}; name one of them")
    k = names.index(str(positive))
    ill = truth == classes[k]
    if ill.all() or not ill.any():
        raise InvalidInputError(f"positive is {positive!r}, and {'all' if ill.all() else 'no'} examples have it; give both kinds")
    return k
