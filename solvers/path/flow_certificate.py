"""The certificate of a path whose parts are cut as networks: the flows of the cuts that prove its pieces, put together.

Pieces share no usage arc, so every arc takes its dual from one flow. Two things stand between them. Flows go to merged purchases;
`formulations.instance.usage_arcs.split_duals` divides them among the members, each of which takes no more than its price at the
breakpoint where it is first paid. And pieces that go at one breakpoint may have been cut on grids of different fineness, where
numbers are real; all of them are brought to the coarsest one, rounded down.

Shares (`solvers.path.proof_by_shares`) prove the same paths with one number a split, but have to be found. On MiniBooNE, 5.2
million usage arcs, that takes 1.2 CPU seconds. The flows are there, and cost 0.3 seconds to put together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning_path import PathCertificate
from formulations.instance.problem import Core
from formulations.instance.usage_arcs import split_duals, starts_by_tail
from solvers.closures.integer_objective import PRICE_MARGIN, ldexp
from solvers.path.decomposition import PathPiece
from solvers.path.parts import Parts


def flow_certificate(
    parts: Parts, pieces: Sequence[PathPiece], level: NDArray[np.int32], ratios: Sequence[Fraction]
) -> PathCertificate:
    """Duals of all usage arcs, in the canonical order.

    Parameters
    ----------
    level
        int32, shape (n,): of every node.
    ratios
        the path's breakpoints, in gains for one price.
    """
    problem, representative = parts.problem, parts.merged_into
    while (representative[representative] != representative).any():
        representative = representative[representative]
    at = [int(level[piece.nodes[0]]) for piece in pieces]
    # gains are multiplied by the denominator of the breakpoint, or by the coarsest grid of its pieces
    scale: list[int | Fraction] = [r.denominator for r in ratios]
    for piece, k in zip(pieces, at, strict=True):
        if isinstance(piece.scale, Fraction):
            scale[k] = min(piece.scale, scale[k]) if isinstance(scale[k], Fraction) else piece.scale
    # the flows on merged arcs, grouped by tail
    tail, head, flow = (
        np.concatenate([np.zeros(0, dtype=dtype), *arrays])
        for dtype, arrays in (
            (np.int32, [p.tail for p in pieces]),
            (np.int32, [p.head for p in pieces]),
            (np.int64, [_rescaled(p, scale[k]) for p, k in zip(pieces, at, strict=True)]),
        )
    )
    order = np.argsort(tail, kind="stable")
    start = starts_by_tail(tail, problem.ensemble.n_nodes)
    # divided among the members
    arcs = problem.usage.arcs()
    dual = np.zeros(arcs.tail.size, dtype=np.int64)
    most = _most_paid(problem, pieces, at, ratios, scale, representative)
    split_duals(arcs.tail, dual, representative, start, head[order], flow[order], most, arcs.head)
    return PathCertificate(dual, tuple(scale))


def _rescaled(piece: PathPiece, scale: int | Fraction) -> NDArray[np.int64]:
    """The flow of a piece on a coarser grid, rounded down."""
    return piece.dual if piece.scale == scale or isinstance(scale, int) else piece.dual // int(piece.scale / scale)


def _most_paid(
    problem: Core,
    pieces: Sequence[PathPiece],
    at: Sequence[int],
    ratios: Sequence[Fraction],
    scale: Sequence[int | Fraction],
    representative: NDArray[np.int32],
) -> NDArray[np.int64]:
    """The most that the users of each purchase may pay together: its price at the breakpoint where it is first paid."""
    exact = problem.numbers.exact
    rate, exponent = np.zeros(representative.size, dtype=np.int64 if exact else np.float64), np.zeros(representative.size, int)
    for piece, k in zip(pieces, at, strict=True):
        rate[piece.head] = ratios[k].numerator if exact else float(ratios[k])
        if not exact:
            exponent[piece.head] = math.frexp(float(scale[k]))[1] - 1
    price: NDArray[Any] = problem.purchase_price() * rate[representative]
    return price if exact else np.floor(ldexp(price * PRICE_MARGIN, exponent[representative])).astype(np.int64)


def left_open(
    core: Core, pieces: Sequence[PathPiece], proof: PathCertificate, level: NDArray[np.int32], ratios: Sequence[Fraction]
) -> Fraction:
    """What the certificate of a path leaves open in real numbers, in the unit of the errors.

    The flow of a cut leaves a closure of its piece worth something on the cut's grid, at the cut's lambda. The duals are less
    than the flow by what rounding them, and dividing them among purchases, took off; and the breakpoint is that of exact numbers.
    """
    total = Fraction(0)
    for piece in pieces:
        assert piece.ratio is not None
        beside = abs(ratios[int(level[piece.nodes[0]])] - piece.ratio)
        total += (piece.left + piece.dual.sum().item()) / Fraction(piece.scale)
        total += beside * Fraction(core.numbers.evaluation[piece.nodes].sum().item())
    place = np.clip(level[core.usage.arcs().tail], 0, len(ratios))
    halves = np.zeros((2, len(ratios) + 1), dtype=np.int64)  # duals have up to 62 bits, their sums more
    np.add.at(halves[0], place, proof.dual >> 31)
    np.add.at(halves[1], place, proof.dual & (2**31 - 1))
    paid = [(high << 31) + low for high, low in halves.T.tolist()]
    return total - sum((p / Fraction(s) for p, s in zip(paid, proof.denominator, strict=False)), Fraction(0))
