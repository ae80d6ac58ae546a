"""Options of the Dantzig-Wolfe decomposition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from formulations.arguments import Range, checked
from formulations.errors import InvalidInputError
from solvers.column_generation.own_master import MasterBuilder

MasterKind = Literal["bundle", "linear program"]

AnyMaster = MasterKind | MasterBuilder


@checked
@dataclass(frozen=True)
class Scheme:
    """Options of the decomposition; the defaults are the fast ones.

    Parameters
    ----------
    master
        ``"bundle"``: charges far from the best ones pay for the distance, see `solvers.column_generation.bundle`.
        ``"linear program"``: the restricted master of NWS15's LP3, with a row for each usage; HiGHS goes on from its last basis.
        Or a master of your own, a function that is given the `Coupling` and returns a `TreeMaster`.
    smoothing
        alpha in [0, 1), for the linear program. Pricing uses alpha times the charges of the best bound plus 1 - alpha times the
        master's; 0 is no smoothing.
    merge
        True: one purchase for all purchases with the same users, and no row for a purchase with a single user. False: a row for
        each usage arc.
    look
        True: in every round, value prunings of the forest (level sets of the master's mixture, and what pricing found), and stop
        as soon as the bound meets the best of them. False: only the master's value counts, and a pruning is made at the end.

    Raises
    ------
    InvalidInputError
        for numbers out of range, and for options that the master does not have.

    Examples
    --------
    >>> import prunemodels as pm
    >>> smoothed = pm.engines.Scheme(master="linear program", smoothing=0.5)
    >>> pm.engines.dantzig_wolfe(pm.datasets.two_trees(), 0.1, scheme=smoothed).pruning
    Pruning(cost=3, error=0.125, 5 splits)
    """

    master: AnyMaster = "bundle"
    smoothing: Annotated[float, Range(0, 1, open_above=True)] = 0.0
    merge: bool = True
    look: bool = True

    def __post_init__(self) -> None:
        if self.master == "bundle" and self.smoothing:
            raise InvalidInputError(f"smoothing is {self.smoothing!r}, but a bundle stays near its centre instead; leave it 0")
        if self.master == "bundle" and not self.look:
            raise InvalidInputError("look is False, but a bundle needs a pruning's value to tell the gap; leave it True")


BUNDLE = Scheme()
"""Column generation with a proximal bundle master, from equal shares of the prices."""

PLAIN = Scheme(master="linear program", merge=False, look=False)
"""The textbook version: a row for each usage arc, two first columns for each tree, and pricing at the master's own duals."""

SCHEMES = {"bundle": BUNDLE, "plain": PLAIN}

AnyScheme = Scheme | Literal["bundle", "plain"]


def scheme_of(scheme: AnyScheme) -> Scheme:
    """The scheme of that name."""
    return SCHEMES[scheme] if isinstance(scheme, str) else scheme
