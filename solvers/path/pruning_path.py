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

Parts of more than `LARGEST_NETWORK` usage arcs are cut in two by price sharing, which needs no network:
`solvers.path.large_parts`. All pieces of such a path are proven together, without their usage arcs, by
`solvers.path.proof_by_shares`.

Gallo, Grigoriadis and Tarjan (1989) for nested parametric cuts; Eisner and Severance (1976) for (1). The guesses are ours.
"""

from __future__ import annotations

import logging
import math
import time
from bisect import bisect_left
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning_path import NEVER, PathCertificate, PathShares, PruningPath
from formulations.arguments import NotNegative, checked
from formulations.errors import CapacityOverflowError, SolverFailedError
from formulations.instance.problem import PruningProblem
from formulations.interruptions import interruption_as_error
from formulations.timed_steps import timed_step
from solvers.closures.cut import Ties
from solvers.closures.tree_pass import free_of_charge, without_prices
from solvers.path.decomposition import PathDecomposition, Piece
from solvers.path.evidence import path_certificate, told_of_forest
from solvers.path.large_parts import LARGEST_NETWORK, Division, Edge, small_parts
from solvers.path.part_files import PartFiles
from solvers.path.parts import Parts
from solvers.path.proof_by_shares import ProofByShares
from solvers.path.windows import contradictions, in_order
from solvers.price_sharing.checkpoint import problem_fingerprint
from solvers.progress import Progress

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
    progress: bool = False,
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
        show a progress bar on stderr.

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
    progress: bool = False,
    merge: bool = True,
    guess: bool = True,
    warm: bool = True,
    largest: int = LARGEST_NETWORK,
    reduce: bool = True,
    cuts: bool = False,
    around: Fraction | None = None,
) -> PruningPath:
    """`pruning_path` with each of its accelerations optional, for measurements and tests; all give the same path.

    Parameters
    ----------
    merge
        merge purchases that the same splits need, see `formulations.instance.merging`.
    guess
        divide large parts by guesses, which are verified; False: by minimum cuts.
    warm
        start cuts from the flows of earlier ones, in two threads; False: cut by OR-Tools, from nothing, in one thread.
    largest
        usage arcs of a part that is cut as a network; `solvers.path.large_parts` divides larger ones.
    reduce
        solve the reduced instance, see `formulations.instance.reduction`.
    cuts
        never leave it to the proof of the path whether a large part goes at one lambda, where a cut can tell.
    around
        a cost, in the unit of the prices. Rows far from it may be missing: all rows are optimal at some lambda, but only the edge
        of the hull with that cost, and small parts beside it, are known to have no row between. Then there is no certificate.
    """
    started = time.perf_counter()
    if reduce:
        reduced = problem.reduced(ties)
        of_groups = divide_and_conquer(
            reduced.problem,
            ties=ties,
            certificate=certificate,
            gap=gap,
            checkpoint=checkpoint,
            progress=progress,
            merge=merge,
            guess=guess,
            warm=warm,
            largest=largest,
            reduce=False,
            cuts=cuts,
            around=around,
        )
        return told_of_forest(problem, reduced.groups, of_groups, time.perf_counter() - started)
    certificate = certificate and around is None
    parts = Parts(problem, merge=merge)
    outer, inner = without_prices(problem, ties), free_of_charge(problem, ties)
    pieces: list[Piece] = []
    leaving: list[tuple[Fraction, NDArray[np.int32]]] = []
    files = (
        None if checkpoint is None else PartFiles(Path(checkpoint), problem_fingerprint(problem, "path", float(gap), ties, cuts))
    )
    then = "nothing was changed" if checkpoint is None else f"the same call goes on from {checkpoint}"
    with (
        interruption_as_error("while computing the path", then),
        nullcontext() if files is None else files.opened(),
        ThreadPoolExecutor(1) as pool,
        Progress("path", int((outer & ~inner).sum()), shown=progress) as bar,
    ):
        work = PathDecomposition(parts, ties, guess=guess, warm=warm, advance=bar.advance)
        limit = None if around is None else int(around // problem.integers.price_unit)
        how = Division(problem, ties, gap, files, pool, cuts, limit)
        for part in small_parts(how, outer, inner, largest):
            if isinstance(part, Edge):
                leaving.append((part.ratio, part.nodes))
                bar.advance(part.nodes.size)
                continue
            found = work.solve(part.part, part.paid)
            leaving += [(piece.ratio, piece.nodes) for piece in found if piece.ratio is not None]
            pieces += found if certificate and not how.stats["large_parts"] else []
        pieces_before = len(leaving)
        if how.stats["parts_with_gap"]:
            leaving = in_order(leaving, problem.integers.gain)
        ratios = sorted({Fraction(0), *(ratio for ratio, _ in leaving)})
        level = np.full(problem.ensemble.n_nodes, 0 if ties == "smallest" else NEVER, dtype=np.int32)
        for ratio, nodes in leaving:
            level[nodes] = bisect_left(ratios, ratio)
        level[inner] = len(ratios)
        below = problem.ensemble.is_split & (problem.ensemble.parent >= 0)
        if contradictions([ratio for ratio, _ in leaving]) or (level > level[problem.ensemble.parent])[below].any():
            raise SolverFailedError("two parts of the path have breakpoints out of order; please report this with the instance")
        proof: PathCertificate | PathShares | None = None
        gaps: tuple[Fraction, ...] = ()
        if how.stats["parts_with_gap"] or (certificate and how.stats["large_parts"]):
            only = [bisect_left(ratios, edge.ratio) for edge in how.unsure]
            every = certificate or len(leaving) != pieces_before or how.stats["parts_with_gap"] > len(only)
            if every and around is not None:  # gaps elsewhere than at single edges: rows that are missing cannot be proven
                return divide_and_conquer(problem, ties=ties, certificate=False, largest=largest, reduce=False)
            arcs = sum(int(problem.usage.arcs_per_node[edge.nodes].sum()) for edge in how.unsure)
            if around is not None and arcs > MOST_ARCS_AROUND:
                return _near(problem, level, ratios, how, started)
            with timed_step(LOG, "proof of the path"):
                by_shares = ProofByShares(
                    problem, level, ratios, ties, None if every else only, how.scores[-1].score if how.scores else None
                )
            proof, gaps = by_shares.certificate() if certificate else None, by_shares.gaps()
            how.stats["rounds_of_the_proof"] = float(by_shares.rounds)
        elif certificate:
            proof = path_certificate(parts, pieces, ratios)
    unit = problem.integers.lam_unit
    stats = {"seconds": time.perf_counter() - started, **work.stats, **how.stats}
    path = PruningPath(problem, level, tuple(r * unit for r in ratios), ties, proof, stats, gaps)
    if gaps and not cuts and path.relative_gap > gap:
        LOG.info("%d breakpoints were not proven: the large parts are divided again, by cuts", by_shares.open.size)
        return divide_and_conquer(
            problem, ties=ties, certificate=certificate, gap=gap, checkpoint=checkpoint, progress=progress, largest=largest,
            merge=merge, guess=guess, warm=warm, reduce=False, cuts=True, around=around,
        )  # fmt: skip
    if gaps and not gap:
        raise CapacityOverflowError(
            f"path: there is no memory for the cuts that would close the last relative gap of {path.relative_gap:.2g}; "
            "give a gap that is small enough, for example gap=1e-6, or fewer cost rows"
        )
    return path


def _near(
    problem: PruningProblem, level: NDArray[np.int32], ratios: list[Fraction], how: Division, started: float
) -> PruningPath:
    """The rows around a cost, where the gap of the edge there is not closed: ``stats["gap"]`` is at least that, in (OBJ)."""
    unit = problem.integers.gain_unit
    gap = max(float(edge.gap * unit) for edge in how.unsure)
    stats = {"seconds": time.perf_counter() - started, **how.stats, "gap": math.nextafter(gap, math.inf)}
    return PruningPath(problem, level, tuple(r * problem.integers.lam_unit for r in ratios), "smallest", None, stats)
