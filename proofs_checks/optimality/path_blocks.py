"""The blocks of a path, maximal connected sets of splits of one tree and one level, and what their closures are worth."""

from __future__ import annotations

from dataclasses import dataclass

from proofs_checks.optimality.path_evidence import PathEvidence
from proofs_checks.optimality.path_shares import Exact


@dataclass(frozen=True, eq=False)
class BlockWorths:
    """For every split, in integer gains over the breakpoint's denominator.

    Parameters
    ----------
    whole
        profit of the split and of all that is below it in its block.
    best
        worth of the best closure that has the split and only what is below it in its block.
    """

    whole: dict[int, Exact]
    best: dict[int, Exact]


def below(evidence: PathEvidence, h: int) -> list[int]:
    """The children of a split that belong to its block."""
    recount, level = evidence.recount, evidence.level
    return [c for c in (recount.left[h], recount.right[h]) if level.get(c) == level[h]]


def is_top(evidence: PathEvidence, h: int) -> bool:
    """Whether h is the top of its block."""
    return evidence.level.get(evidence.recount.parent[h]) != evidence.level[h]


def block_worths(evidence: PathEvidence, beside: int = 0) -> BlockWorths:
    """Worths at the block's own breakpoint, or at that of a level beside its own, for the blocks that have such a breakpoint."""
    whole: dict[int, Exact] = {}
    best: dict[int, Exact] = {}
    for h in reversed(evidence.recount.splits):
        at = evidence.level[h] + beside
        if beside == 0 or (0 <= evidence.level[h] < evidence.top and 0 <= at < evidence.top):
            profit, same = evidence.profit(h, at), below(evidence, h)
            whole[h] = profit + sum(whole[c] for c in same)
            best[h] = profit + sum(max(0, best[c]) for c in same)
    return BlockWorths(whole, best)
