"""All optimal prunings by divide and conquer over lambda.

Between two nested optima, an inner one of a larger lambda and an outer one, lies a part D of splits. Let G be its total gain and
P the total price of what the inner optimum has not paid yet, evaluation included. Try

    lambda* = G / P                                                                                        (1)

where D as a whole has value 0. If the best closure of D at lambda* also has value 0, then lambda* is a breakpoint, and all of D
leaves there. Otherwise the closure cuts D into an inner and an outer part, which share no arc.
Started from the optimum at lambda = 0 and the best closure that is free of charge, G and P are positive for
"smallest" ties, P for "largest", whatever the signs of single gains.

Large parts are divided into many at once by a guess instead of a minimum cut (`solvers.path.guess`). Every piece is proven by a
cut of its own, and the pieces are the path if and only if their breakpoints come in order. Where they do not, a guess was wrong,
and the pieces there are cut again.

Parts of more than `largest_network` usage arcs are cut in two by price sharing, which needs no network:
`solvers.path.large_parts`. All pieces of such a path are proven together, without their usage arcs, by
`solvers.path.proof_by_shares`.

Gallo, Grigoriadis and Tarjan (1989) for nested parametric cuts; Eisner and Severance (1976) for (1). The guesses are ours.
"""

from __future__ import annotations

import logging
import math
import time
from bisect import bisect_left
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning_path import NEVER, PathCertificate, PathShares, PruningPath
from formulations.arguments import NotNegative, checked
from formulations.errors import CapacityOverflowError, SolverFailedError
from formulations.instance.merging import split_duals, starts_by_tail
from formulations.instance.problem import PruningProblem
from formulations.instance.reduction import Groups
from formulations.long_steps import Progress, interruption_as_error, timed_step
from solvers.closures.cut import Ties
from solvers.closures.tree_pass import free_of_charge, without_prices
from solvers.path.decomposition import PathDecomposition, PathPiece
from solvers.path.large_parts import Division, Edge, largest_network, small_parts
from solvers.path.part_files import PartFiles
from solvers.path.parts import Parts, contradictions, in_order
from solvers.path.proof_by_shares import ProofByShares
from solvers.price_sharing.checkpoint import problem_fingerprint

LOG = logging.getLogger(__name__)

MOST_ARCS_AROUND = 40_000_000
"""Usage arcs of an edge around a budget up to which the proof by shares closes its gap, at 120 bytes each; else it is told."""


@checked
def pruning_path(
    problem: PruningProblem,
    *,
    ties: Ties = "smallest",
    certificate: bool = True,
    gap: NotNegative = 0.0,
    checkpoint: str | Path | None = None,
    progress: bool | None = False,
) -> PruningPath:
    """Every optimal pruning for every lambda >= 0, exactly.

    Parameters
    ----------
    ties
        which optimum to hold where there are several: the smallest (fewest splits) or the largest.
    certificate
        keep a dual state that proves the path: 8 bytes a usage arc, and about a tenth of the time; above some millions of usage
        arcs one number a split and some more, and rounds of price sharing that find them.
    gap
        relative gap that is small enough where so many splits go at nearly one lambda that a cut of them does not fit into
        memory, on hundreds of millions of usage arcs, and neither rounds nor the proof close it. 0 (default): exact, or an
        error. Whatever fits into memory is exact in any case.
    checkpoint
        a folder, made if it does not exist, for what price sharing finds in parts that are too large for a network. After an
        interruption the same call goes on from there. Smaller parts are cut again: that takes seconds for each.
    progress
        show a progress bar on stderr; None: on a terminal, where it takes longer than three seconds.

    Returns
    -------
    PruningPath
        exact for the integer instance ``problem.integers``; where ``problem.integers.exact`` is False its rounding bounds say how
        far the real instance can differ. With a `gap`, ``gaps`` and ``relative_gap`` of the path say what was proven: 0.0 where
        it is exact after all, and more than the gap asked for where the rounds, 400 at most, did not get there.

    Raises
    ------
    InvalidInputError
        for a negative gap, and a checkpoint of another instance or of other options.
    BrokenFileError
        for a checkpoint that cannot be read or written, or that another run is writing.
    InterruptedSolveError
        on Ctrl-C; what was found in large parts is in the checkpoint.
    CapacityOverflowError
        if products of gains and prices do not fit 62 bits; without a `gap` also where one is left.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> path = pm.pruning_path(problem)
    >>> print(len(path), "optimal prunings, costs from", path.cost[-1], "to", round(path.cost[0], 2))
    14 optimal prunings, costs from 0.0 to 16.43
    """
    with timed_step(LOG, "path of %s", problem):
        return divide_and_conquer(problem, ties=ties, certificate=certificate, gap=gap, checkpoint=checkpoint, progress=progress)


def divide_and_conquer(
    problem: PruningProblem,
    *,
    ties: Ties = "smallest",
    certificate: bool = True,
    gap: float = 0.0,
    checkpoint: str | Path | None = None,
    progress: bool | None = False,
    largest: int | None = None,
    reduce: bool = True,
    cuts: bool = False,
    around: Fraction | None = None,
) -> PruningPath:
    """`pruning_path` for those who know more about the instance, or need less of its path.

    Parameters
    ----------
    largest
        usage arcs of a part that is cut as a network; `solvers.path.large_parts` divides larger ones. None: what fits memory.
    reduce
        solve the reduced instance, see `formulations.instance.reduction`; False: the instance is a reduced one.
    cuts
        never leave it to the proof of the path whether a large part goes at one lambda, where a cut can tell.
    around
        a cost, in the unit of the prices. Rows far from it may be missing: all rows are optimal at some lambda, but only the edge
        of the hull with that cost, and small parts beside it, are known to have no row between. Then there is no certificate.
    """
    started = time.perf_counter()
    asked = _Asked(
        ties,
        certificate and around is None,
        gap,
        checkpoint,
        progress,
        largest_network() if largest is None else largest,
        cuts,
        around,
    )
    if not reduce:
        return _solved(problem, asked)
    reduced = problem.reduced(ties)
    return _told_of_forest(problem, reduced.groups, _solved(reduced.problem, asked), started)


@dataclass(frozen=True)
class _Asked:
    """The arguments of `divide_and_conquer`."""

    ties: Ties
    certificate: bool
    gap: float
    checkpoint: str | Path | None
    progress: bool | None
    largest: int
    cuts: bool
    around: Fraction | None


@dataclass(frozen=True, eq=False)
class _Found:
    """All that is between the largest and the smallest optimum of a path."""

    parts: Parts
    leaving: list[tuple[Fraction, NDArray[np.int32]]]  # breakpoints in ascending order, and the splits that go there
    joined: bool  # whether rows had to be left out because they were not optimal
    pieces: list[PathPiece]  # with their flows, where these prove the path
    inner: NDArray[np.bool_]  # bool, shape (n,): the splits that are always kept
    how: Division
    stats: dict[str, float]  # of the decomposition


def _solved(problem: PruningProblem, asked: _Asked) -> PruningPath:
    """The path of a reduced instance."""
    started = time.perf_counter()
    found = _found(problem, asked)
    how, with_gap = found.how, found.how.stats["parts_with_gap"]
    ratios = sorted({Fraction(0), *(ratio for ratio, _ in found.leaving)})
    level = _levels(problem, asked.ties, found, ratios)
    proof: PathCertificate | PathShares | None = None
    gaps: tuple[Fraction, ...] = ()
    unit = problem.integers.lam_unit
    if with_gap or (asked.certificate and how.stats["large_parts"]):
        only = [bisect_left(ratios, edge.ratio) for edge in how.unsure]
        every = asked.certificate or found.joined or with_gap > len(only)
        if every and asked.around is not None:  # gaps elsewhere than at single edges: rows that are missing cannot be proven
            return _solved(problem, replace(asked, gap=0.0, checkpoint=None, progress=False, cuts=False, around=None))
        arcs = sum(int(problem.usage.arcs_per_node[edge.nodes].sum()) for edge in how.unsure)
        if asked.around is not None and arcs > MOST_ARCS_AROUND:
            edge_gap = max(float(edge.gap * problem.integers.gain_unit) for edge in how.unsure)
            stats = {"seconds": time.perf_counter() - started, **how.stats, "gap": math.nextafter(edge_gap, math.inf)}
            return PruningPath(problem, level, tuple(r * unit for r in ratios), "smallest", None, stats)
        with timed_step(LOG, "proof of the path"):
            scores = how.scores[-1].score if how.scores else None
            by_shares = ProofByShares(problem, level, ratios, asked.ties, None if every else only, scores)
        proof, gaps = by_shares.certificate() if asked.certificate else None, by_shares.gaps()
        how.stats["rounds_of_the_proof"] = float(by_shares.rounds)
    elif asked.certificate:
        proof = _path_certificate(found.parts, found.pieces, ratios)
    stats = {"seconds": time.perf_counter() - started, **found.stats, **how.stats}
    path = PruningPath(problem, level, tuple(r * unit for r in ratios), asked.ties, proof, stats, gaps)
    if gaps and not asked.cuts and path.relative_gap > asked.gap:
        LOG.info("%d breakpoints were not proven: the large parts are divided again, by cuts", by_shares.open.size)
        return _solved(problem, replace(asked, cuts=True))
    if gaps and not asked.gap:
        raise CapacityOverflowError(
            f"path: there is no memory for the cuts that would close the last relative gap of {path.relative_gap:.2g}; "
            "give a gap that is small enough, for example gap=1e-6, or fewer cost rows"
        )
    return path


def _found(problem: PruningProblem, asked: _Asked) -> _Found:
    """Divide what lies between the optimum at lambda = 0 and the best closure that is free of charge."""
    parts, pieces = Parts(problem), list[PathPiece]()
    outer, inner = without_prices(problem, asked.ties), free_of_charge(problem, asked.ties)
    leaving: list[tuple[Fraction, NDArray[np.int32]]] = []
    files, then = None, "nothing was changed"
    if asked.checkpoint is not None:
        options = "path", float(asked.gap), asked.ties, asked.cuts
        files = PartFiles(Path(asked.checkpoint), problem_fingerprint(problem, *options))
        then = f"the same call goes on from {asked.checkpoint}"
    with (
        interruption_as_error("while computing the path", then),
        nullcontext() if files is None else files.opened(),
        ThreadPoolExecutor(1) as pool,
        Progress("path", int((outer & ~inner).sum()), shown=asked.progress) as bar,
    ):
        work = PathDecomposition(parts, asked.ties, bar.advance)
        limit = None if asked.around is None else int(asked.around // problem.integers.price_unit)
        how = Division(problem, asked.ties, asked.gap, files, pool, asked.cuts, limit, bar.tick)
        for part in small_parts(how, outer, inner, asked.largest):
            if isinstance(part, Edge):
                leaving.append((part.ratio, part.nodes))
                bar.advance(part.nodes.size)
                continue
            found = work.solve(part.part, part.paid)
            leaving += [(piece.ratio, piece.nodes) for piece in found if piece.ratio is not None]
            pieces += found if asked.certificate and not how.stats["large_parts"] else []
    before = len(leaving)
    if how.stats["parts_with_gap"]:
        leaving = in_order(leaving, problem.integers.gain)
    return _Found(parts, leaving, len(leaving) != before, pieces, inner, how, work.stats)


def _levels(problem: PruningProblem, ties: Ties, found: _Found, ratios: Sequence[Fraction]) -> NDArray[np.int32]:
    """The level of every node, int32 of shape (n,)."""
    ensemble = problem.ensemble
    level = np.full(ensemble.n_nodes, 0 if ties == "smallest" else NEVER, dtype=np.int32)
    for ratio, nodes in found.leaving:
        level[nodes] = bisect_left(ratios, ratio)
    level[found.inner] = len(ratios)
    below = ensemble.is_split & (ensemble.parent >= 0)
    if contradictions([ratio for ratio, _ in found.leaving]) or (level > level[ensemble.parent])[below].any():
        raise SolverFailedError("two parts of the path have breakpoints out of order; please report this with the instance")
    return level


def _path_certificate(parts: Parts, pieces: Sequence[PathPiece], ratios: Sequence[Fraction]) -> PathCertificate:
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


def _room(parts: Parts, pieces: Sequence[PathPiece], representative: NDArray[np.int32]) -> NDArray[np.int64]:
    """The most that the users of each purchase may pay together: its price at the breakpoint where it is first paid."""
    at = np.zeros(representative.size, dtype=np.int64)
    for piece in pieces:
        at[piece.head] = 0 if piece.ratio is None else piece.ratio.numerator
    return parts.problem.purchase_price() * at[representative]


def _told_of_forest(problem: PruningProblem, groups: Groups, path: PruningPath, started: float) -> PruningPath:
    """The path of a forest and its proof, from that of its reduced instance: (4) to (6) of `formulations.instance.reduction`."""
    proof = path.certificate
    if isinstance(proof, PathCertificate):
        proof = replace(proof, dual=groups.duals(proof.dual, problem.usage))
    elif isinstance(proof, PathShares):
        payers = {name: groups.payer[getattr(proof, name)] for name in ("giver", "taker")}
        proof = replace(proof, weight=groups.weights(proof.weight), **payers)
    level = groups.levels(path.level, 0 if path.ties == "smallest" else NEVER)
    stats = {**path.stats, "seconds": time.perf_counter() - started, "groups": float(groups.is_group.sum())}
    return PruningPath(problem, level, path.breakpoints, path.ties, proof, stats, path.gaps)
