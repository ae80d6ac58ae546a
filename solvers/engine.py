"""What a registry says of an engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Signature = TypeVar("Signature")


@dataclass(frozen=True)
class Engine(Generic[Signature]):
    """An engine of a registry.

    Parameters
    ----------
    solve
        the function: a `Solver` or, within a budget, a `LimitedSolver`.
    proves
        ``"optimum"``: value and bound meet, in integers or within the engine's stated tolerance, unless a limit ends it.
        ``"bound"``: a true bound, between which and the value a gap may remain. ``"nothing"``: its bound is minus infinity.
    takes
        ``"any"`` forest, or ``"small"`` ones only and refuses others.
    """

    solve: Signature
    proves: Literal["optimum", "bound", "nothing"]
    takes: Literal["any", "small"] = "any"
