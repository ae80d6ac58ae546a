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

Parts of more than `PathParams.largest_network` usage arcs are cut in two by price sharing, which needs no network:
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
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_prunings import exact_costs
from formulations.answers.nested_rows import pooled
from formulations.answers.pruning_path import NEVER, PathCertificate, PathShares, PruningPath
from formulations.answers.solution import Status
from formulations.arguments import NotNegative, checked
from formulations.errors import CapacityOverflowError, SolverFailedError
from formulations.instance.problem import Core, PruningProblem
from formulations.instance.reduction import Groups
from formulations.long_steps import Progress, interruption_as_error, timed_step
from formulations.memory import memory_free
from solvers.closures.cut import Ties
from solvers.closures.subproblem import small_subproblem
from solvers.closures.tree_pass import free_of_charge, without_prices
from solvers.path.decomposition import PathDecomposition, PathPiece, contradictions
from solvers.path.large_parts import Division, Edge, SmallPart, small_parts
from solvers.path.params import PathParams
from solvers.path.part_files import PartFiles
from solvers.path.part_sequence import Parts
from solvers.path.proof_by_shares import ProofByShares, flow_certificate, left_open
from solvers.price_sharing.rows import problem_fingerprint

LOG = logging.getLogger(__name__)


@checked
def pruning_path(
    problem: PruningProblem,
    *,
    ties: Ties = "smallest",
    certificate: bool = True,
    gap: NotNegative = 0.0,
    checkpoint: str | Path | None = None,
    progress: bool | None = False,
    params: PathParams = PathParams(),
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
    params
        tuning numbers, see `solvers.path.params`; they change the time, the memory and the certificate, never the path.

    Returns
    -------
    PruningPath
        ``gaps`` and ``relative_gap`` say what was proven: 0.0 where ``problem.numbers.exact``; some 1e-14, what the rounding of
        cuts can hide, where weights or errors are real numbers. With a `gap` it may be as large as that, and larger where the
        rounds, 400 at most, did not get there.

    Raises
    ------
    InvalidInputError
        for a negative gap, and a checkpoint of another instance or of other options.
    BrokenFileError
        for a checkpoint that cannot be read or written, or that another run is writing.
    InterruptedSolveError
        on Ctrl-C; what was found in large parts is in the checkpoint.
    CapacityOverflowError
        without a `gap` where one is left that no cut can close in the memory that is free.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> path = pm.pruning_path(problem)
    >>> print(len(path), "optimal prunings, costs from", path.cost[-1], "to", round(path.cost[0], 2))
    14 optimal prunings, costs from 0.0 to 16.43
    """
    with timed_step(LOG, "path of %s", problem):
        return divide_and_conquer(problem, PathOptions(ties, certificate, gap, checkpoint, progress, params))


@dataclass(frozen=True)
class PathOptions:
    """The arguments of `pruning_path`, and more for callers who need less of the path."""

    ties: Ties = "smallest"
    certificate: bool = True
    gap: float = 0.0
    checkpoint: str | Path | None = None
    progress: bool | None = False
    params: PathParams = PathParams()
    # a cost, in the unit of the prices. Rows far from it may be missing: all rows are optimal at some lambda, but only the edge
    # of the hull with that cost, and small parts beside it, are known to have no row between. Then there is no certificate.
    around: Fraction | None = None
    deadline: float = math.inf  # of `time.perf_counter`: past it `OutOfTime` is raised
    cuts: bool = False  # the proof never decides whether a large part goes at one lambda


def divide_and_conquer(problem: PruningProblem, asked: PathOptions) -> PruningPath:
    """`pruning_path` with all of its options."""
    started = time.perf_counter()
    asked = replace(asked, certificate=asked.certificate and asked.around is None)
    reduced = problem.reduced(asked.ties)
    found = core_path(reduced.core, asked)
    path = _restored(problem, reduced.groups, found, started)
    if path.status is not Status.OPTIMAL and path.relative_gap > asked.gap and found.stats["large_parts"]:
        LOG.info("%d breakpoints were not proven: the large parts are divided again, by cuts", found.open)
        path = _restored(problem, reduced.groups, core_path(reduced.core, replace(asked, cuts=True)), started)
    if path.status is not Status.OPTIMAL and not asked.gap and found.stats["large_parts"]:
        raise CapacityOverflowError(
            f"path: there is no memory for the cuts that would close the last relative gap of {path.relative_gap:.2g}; "
            "give a gap that is small enough, for example gap=1e-6, or fewer cost rows"
        )
    return path


class OutOfTime(Exception):  # noqa: N818 (not an error: the caller has another way)
    """The deadline came before the path was found."""


@dataclass(frozen=True, eq=False)
class CorePath:
    """The levels of a core's splits, as of `PruningPath`, and their proof."""

    level: NDArray[np.int32]
    breakpoints: tuple[Fraction, ...]
    ties: Ties
    proof: PathCertificate | PathShares | None
    stats: dict[str, float]
    gaps: tuple[Fraction, ...] = ()
    open: int = 0  # breakpoints that are not proven


@dataclass(frozen=True, eq=False)
class Leaving:
    """Splits that go together, their gain and their cost."""

    gain: Fraction
    cost: Fraction
    nodes: NDArray[np.int32]

    @classmethod
    def at(cls, ratio: Fraction, gain: Any, nodes: NDArray[np.int32]) -> Leaving:
        """What goes at a breakpoint, which with the gain tells the cost; at the breakpoint 0 nothing is gained."""
        return cls(Fraction(gain), Fraction(gain) / ratio, nodes) if ratio else cls(Fraction(0), Fraction(1), nodes)

    @property
    def ratio(self) -> Fraction:
        """The breakpoint, in gains for one price."""
        return self.gain / self.cost if self.gain else Fraction(0)

    def joined(self, inside: Leaving) -> Leaving:
        """With the next piece further inside."""
        return Leaving(self.gain + inside.gain, self.cost + inside.cost, np.concatenate([self.nodes, inside.nodes]))


def in_order(pieces: Sequence[Leaving]) -> list[Leaving]:
    """Pieces that obey (3), out of pieces that are optimal up to a gap or a rounding: neighbours that do not are joined.

    What is left are the prunings between the pieces that are the best of them at some lambda, the upper hull of their costs and
    gains.
    """
    return pooled(pieces, lambda outer, inner: outer.gain * inner.cost > inner.gain * outer.cost, Leaving.joined)[0]


@dataclass(frozen=True, eq=False)
class _Found:
    """All that is between the largest and the smallest optimum of a path."""

    parts: Parts
    leaving: list[Leaving]  # in the order of their breakpoints, which ascend
    joined: bool  # whether rows had to be left out because they were not optimal
    pieces: list[PathPiece]  # with their flows, where these prove the path
    inner: NDArray[np.bool_]  # bool, shape (n,): the splits that are always kept
    how: Division
    stats: dict[str, float]  # of the decomposition

    def levels(self, ties: Ties, ratios: Sequence[Fraction]) -> NDArray[np.int32]:
        """The level of every node, int32 of shape (n,); `ratios` are the breakpoints."""
        ensemble = self.parts.problem.ensemble
        level = np.full(ensemble.n_nodes, 0 if ties == "smallest" else NEVER, dtype=np.int32)
        for part in self.leaving:
            level[part.nodes] = bisect_left(ratios, part.ratio)
        level[self.inner] = len(ratios)
        below = ensemble.is_split & (ensemble.parent >= 0)
        if contradictions([part.ratio for part in self.leaving]) or (level > level[ensemble.parent])[below].any():
            raise SolverFailedError("two parts of the path have breakpoints out of order; please report this with the instance")
        return level


def core_path(problem: Core, asked: PathOptions) -> CorePath:
    """The path of an instance as it is, of a reduced one as a rule.

    What lies between the optimum at lambda = 0 and the best closure that is free of charge is divided.
    """
    started = time.perf_counter()
    parts, pieces = Parts(problem), list[PathPiece]()
    outer, inner = without_prices(problem, asked.ties), free_of_charge(problem, asked.ties)
    nodes, leaving = np.flatnonzero(outer & ~inner).astype(np.int32), list[tuple[Fraction, NDArray[np.int32]]]()
    # the folder of what was found, if there is one
    files, then = None, "nothing was changed"
    if asked.checkpoint is not None:
        options = "path", float(asked.gap), asked.ties, asked.cuts
        folder = Path(asked.checkpoint) / "cuts" if asked.cuts else Path(asked.checkpoint)  # what cuts find are other parts
        files = PartFiles(folder, problem_fingerprint(problem, *options))
        then = f"the same call goes on from {asked.checkpoint}"
    exact = problem.numbers.exact
    with (
        interruption_as_error("while computing the path", then),
        nullcontext() if files is None else files.opened(),
        ThreadPoolExecutor(1) as pool,
        Progress("path", nodes.size, shown=asked.progress) as bar,
    ):
        # what is called on the way looks at the clock
        def advance(splits: int) -> None:
            if time.perf_counter() > asked.deadline:
                raise OutOfTime
            bar.advance(splits)

        def tick() -> None:
            advance(0)
            bar.tick()

        # price sharing divides large parts, and cuts divide small ones
        work = PathDecomposition(parts, asked.ties, advance, asked.params)
        limit = None if asked.around is None else asked.around / problem.numbers.price_unit
        how = Division(problem, asked.ties, asked.gap, files, pool, asked.params, asked.cuts, limit, tick)
        largest = largest_network(asked.params)
        whole = small_subproblem(problem, nodes, None, largest)
        nothing = np.zeros(problem.usage.n_purchases, dtype=bool)
        for part in small_parts(how, outer, inner, largest) if whole is None else [SmallPart(whole, nothing)]:
            if isinstance(part, Edge):
                leaving.append((part.ratio, part.nodes))
                how.edges.append(part)
                advance(part.nodes.size)
                continue
            its_pieces = work.solve(part.part, part.paid)
            leaving += [(piece.ratio, piece.nodes) for piece in its_pieces if piece.ratio is not None]
            pieces += its_pieces if not how.stats["large_parts"] and (asked.certificate or not exact) else []
    # gains and costs of what leaves together; where parts have gaps, breakpoints may be out of order
    gain = problem.numbers.gain
    leaves = [Leaving.at(ratio, gain[nodes].sum().item(), nodes) for ratio, nodes in leaving]
    before = len(leaves)
    if how.stats["parts_with_gap"]:
        leaves = in_order(leaves)
    found = _Found(parts, leaves, len(leaves) != before, pieces, inner, how, work.stats)
    return _of_whole_numbers(found, asked, started) if exact else _of_real_numbers(found, asked, started)


def largest_network(params: PathParams) -> int:
    """Usage arcs of a part that is cut as a network on this machine; the path is the same for any number, its certificate not."""
    free = memory_free()
    return params.largest_network if free is None else min(params.largest_network, free // (2 * params.network_bytes))


def _of_whole_numbers(found: _Found, asked: PathOptions, started: float) -> CorePath:
    """The path and its proof: flows, or shares where large parts were divided."""
    core = found.parts.problem
    how, with_gap = found.how, found.how.stats["parts_with_gap"]
    ratios = sorted({Fraction(0), *(part.ratio for part in found.leaving)})
    level = found.levels(asked.ties, ratios)
    proof: PathCertificate | PathShares | None = None
    gaps: tuple[Fraction, ...] = ()
    is_open, unit = 0, core.numbers.lam_unit
    if with_gap or (asked.certificate and how.stats["large_parts"]):
        only = [bisect_left(ratios, edge.ratio) for edge in how.unsure]
        every = asked.certificate or found.joined or with_gap > len(only)
        if every and asked.around is not None:  # gaps elsewhere than at single edges: rows that are missing cannot be proven
            return core_path(core, replace(asked, gap=0.0, checkpoint=None, progress=False, cuts=False, around=None))
        arcs = sum(int(core.usage.arcs_per_node[edge.nodes].sum()) for edge in how.unsure)
        if asked.around is not None and arcs > asked.params.most_arcs_around:
            edge_gap = max(float(edge.gap * core.numbers.gain_unit) for edge in how.unsure)
            stats = {"seconds": time.perf_counter() - started, **how.stats, "gap": math.nextafter(edge_gap, math.inf)}
            return CorePath(level, tuple(r * unit for r in ratios), "smallest", None, stats)
        with timed_step(LOG, "proof of the path"):
            scores = how.scores[-1].score if how.scores else None
            by_shares = ProofByShares(core, level, ratios, asked.ties, None if every else only, scores, asked.params)
        proof, gaps = by_shares.certificate() if asked.certificate else None, by_shares.gaps()
        how.stats["rounds_of_the_proof"], is_open = float(by_shares.rounds), by_shares.open.size
    elif asked.certificate:
        proof = flow_certificate(found.parts, found.pieces, level, ratios)
    stats = {"seconds": time.perf_counter() - started, **found.stats, **how.stats}
    return CorePath(level, tuple(r * unit for r in ratios), asked.ties, proof, stats, gaps, is_open)


def _of_real_numbers(found: _Found, asked: PathOptions, started: float) -> CorePath:
    """The path of an instance whose numbers are real: its cuts round, its rows and breakpoints do not.

    A piece is proven up to what the grid of its cut hides. By (8) of `proofs_checks.optimality.path_optimality` it hides no
    more at any other lambda, so the sum over all pieces bounds the gap at every lambda.
    """
    core, found = found.parts.problem, replace(found, leaving=_in_exact_numbers(found))
    ratios = sorted({Fraction(0), *(part.ratio for part in found.leaving)})
    level = found.levels(asked.ties, ratios)
    how, hidden = found.how, 2 * Fraction(float(core.gain_lost.sum()))
    hidden += sum((max(edge.gap, Fraction(0)) for edge in how.edges), Fraction(0))
    proof = None
    if not how.stats["large_parts"]:
        proof = flow_certificate(found.parts, found.pieces, level, ratios)
        hidden += left_open(core, found.pieces, proof, level, ratios)
    stats = {"seconds": time.perf_counter() - started, **found.stats, **how.stats}
    if asked.around is not None:  # rows that are missing cannot be proven; what the edge at the cost may hide is told
        return CorePath(level, tuple(ratios), "smallest", None, stats | {"gap": math.nextafter(float(hidden), math.inf)})
    gaps = (Fraction(math.nextafter(float(hidden), math.inf)),) * len(ratios) if hidden else ()
    return CorePath(level, tuple(ratios), asked.ties, proof if asked.certificate else None, stats, gaps, len(how.unsure))


def _in_exact_numbers(found: _Found) -> list[Leaving]:
    """What leaves together with its exact gain and cost in the units of (OBJ), joined where breakpoints do not ascend."""
    core, leaving = found.parts.problem, found.leaving
    exact = core.exact_numbers
    rows_kept = np.zeros(core.ensemble.n_nodes, dtype=np.int32)
    rows_kept[found.inner] = len(leaving) + 1
    for k, part in enumerate(leaving):
        rows_kept[part.nodes] = k + 1
    costs = pairwise(exact_costs(core, rows_kept, len(leaving) + 1))
    return in_order(
        [
            Leaving(
                max(0, int(exact.gain[part.nodes].sum())) * exact.gain_unit, (dearer - cheaper) * exact.price_unit, part.nodes
            )
            for part, (dearer, cheaper) in zip(leaving, costs, strict=True)
        ]
    )


def _restored(problem: PruningProblem, groups: Groups, found: CorePath, started: float) -> PruningPath:
    """The path of a forest and its proof, from that of its reduction: (4) to (6) of `formulations.instance.reduction`."""
    proof = found.proof
    if isinstance(proof, PathCertificate):
        proof = replace(proof, dual=groups.duals(proof.dual, problem.usage))
    elif isinstance(proof, PathShares):
        payers = {name: groups.payer[getattr(proof, name)] for name in ("giver", "taker")}
        proof = replace(proof, weight=groups.weights(proof.weight), **payers)
    level = groups.levels(found.level, 0 if found.ties == "smallest" else NEVER)
    stats = {**found.stats, "seconds": time.perf_counter() - started, "groups": float(groups.is_group.sum())}
    return PruningPath(problem, level, found.breakpoints, found.ties, proof, stats, found.gaps)
