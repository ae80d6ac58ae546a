"""The proof of a path: the flows of its pieces, divided among the purchases that were merged; and a path told for all splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning_path import NEVER, PathCertificate, PathShares, PruningPath
from formulations.instance.merging import split_duals, starts_by_tail
from formulations.instance.problem import PruningProblem
from formulations.instance.reduction import Groups
from solvers.path.decomposition import Piece
from solvers.path.parts import Parts


def path_certificate(parts: Parts, pieces: Sequence[Piece], ratios: Sequence[Fraction]) -> PathCertificate:
    """Duals of all usage arcs, in the canonical order; `ratios` are the path's breakpoints."""
    representative = parts.merged_into
    while (representative[representative] != representative).any():
        representative = representative[representative]
    tail, head, flow = (
        np.concatenate([np.zeros(0, dtype=dtype), *arrays])
        for dtype, arrays in (
            (np.int32, [p.tail for p in pieces]),
            (np.int32, [p.head for p in pieces]),
            (np.int64, [p.dual for p in pieces]),
        )
    )
    order = np.argsort(tail, kind="stable")
    start = starts_by_tail(tail, parts.problem.ensemble.n_nodes)
    arcs = parts.problem.usage_arcs()
    dual = np.zeros(arcs.tail.size, dtype=np.int64)
    room = _room(parts, pieces, representative)
    split_duals(arcs.tail, dual, representative, start, head[order], flow[order], room, arcs.head)
    return PathCertificate(dual, tuple(r.denominator for r in ratios))


def _room(parts: Parts, pieces: Sequence[Piece], representative: NDArray[np.int32]) -> NDArray[np.int64]:
    """The most that the users of each purchase may pay together: its price at the breakpoint where it is first paid."""
    at = np.zeros(representative.size, dtype=np.int64)
    for piece in pieces:
        at[piece.head] = 0 if piece.ratio is None else piece.ratio.numerator
    return parts.problem.purchase_price() * at[representative]


def told_of_forest(problem: PruningProblem, groups: Groups, path: PruningPath, seconds: float) -> PruningPath:
    """The path of a forest and its proof, from that of its reduced instance: (4) to (6) of `formulations.instance.reduction`."""
    proof = path.certificate
    if isinstance(proof, PathCertificate):
        proof = replace(proof, dual=groups.duals(proof.dual, problem.usage))
    elif isinstance(proof, PathShares):
        bearers = {name: groups.bearer[getattr(proof, name)] for name in ("giver", "taker")}
        proof = replace(proof, weight=groups.weights(proof.weight), **bearers)
    level = groups.levels(path.level, 0 if path.ties == "smallest" else NEVER)
    stats = {**path.stats, "seconds": seconds, "groups": float(groups.is_group.sum())}
    return PruningPath(problem, level, path.breakpoints, path.ties, proof, stats, path.gaps)
