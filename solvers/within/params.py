"""The numbers that a search within limits is tuned by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WithinParams:
    """What one may set; the defaults are what answers were measured with. Work is in the units of `solvers.within.core`."""

    # best_work, exact_work: the most work of ``"best"`` and of ``"exact"`` where neither work nor a time limit is given
    best_work: float = 10.0
    exact_work: float = 300.0
    proof_share: float = 0.3  # the share of a time limit that is kept for the proof
    after_ctrl_c: float = 0.5  # seconds for the proof after Ctrl-C
    most_listed: int = 20_000  # prunings of a forest up to which all of them are listed where a search left something open
    per_cut: float = 1e-3  # work of a cut of any size: a part is built, bounded and filled in Python
    per_closure: float = 2e-2  # the least work of a closure of the whole instance

    # usage arcs that the first window may always have; instances with fewer are searched as a whole
    first_window_arcs: int = 300_000
    window_widths: tuple[float, ...] = (1.5, 4.0)  # usage arcs of the windows within a budget, as multiples of the hull edge's
    # how far the multipliers of a window within several limits are from the best ones, as shares of them. The widest window with
    # at most `first_window_arcs` is searched.
    multiplier_widths: tuple[float, ...] = (0.002, 0.01, 0.03, 0.1, 0.3)
    # usage arcs of a first window up to which branch and bound comes before the search inside the edge. At 470,000 it closes 93
    # to 99 % of the distance to the relaxation, where the other closes 64 to 95 %; at a million 37 %, where it closes 92 %.
    searched_first: int = 500_000

    # the weight of the larger estimate in the order of splits to branch on; the smaller one has the weight 1
    larger_weight: float = 0.1
    most_open: int = 3000  # with more open nodes the search goes depth first, so that memory stays bounded
    one_trial_arcs: int = 20_000  # with more usage arcs only one split is tried, because cuts are then expensive
    most_trials: int = 4  # the most splits whose two branches are solved before one of the splits is chosen
    probe_cuts: int = 2  # the most cuts of a probe
    most_failed_probes: int = 2  # a node is branched on after this many probes without success
    # first_turns, most_turns: the most surrogate rows that the first node tries, and any other node
    first_turns: int = 30
    most_turns: int = 3
    most_columns: int = 40  # closures that a node hands on to its children
    fixed_share: float = 0.1  # fixing is repeated as long as it decides at least this part of the splits
    # the most rounds of a greedy filling. A round prices each split whose parent is kept, and tries each once.
    filling_rounds: int = 20
    # pairs of a split or purchase and a limit up to which single limits are looked at, for memory's sake
    most_uses: int = 5_000_000

    edge_starts: int = 60  # the most starts and ruins of the search inside a hull edge
    edge_work: float = 60.0  # its most work and seconds, where branch and bound follows
    # it starts this many times from the whole edge before the first ruin; afterwards one start in ``first_starts + 1`` does
    first_starts: int = 2
    draws: int = 2  # draws of other prices in each bracket; the search continues with the best of their ends
    most_failed_rounds: int = 8  # a bracket is given up after this many rounds of draws that do not divide it
    # the deduction from the promise of a bracket as wide as the edge, as a share of the relaxation's gain
    width_weight: float = 0.1
    price_strengths: tuple[float, ...] = (1.0, 2.0, 3.0, 4.0)  # the values of t in (2) of `solvers.within.brackets`
    # the least number of open splits; where the edge has fewer, neighbouring rows of the path are opened too
    least_open: int = 64
    # work of a cut up to which an edge is made in any case; a larger one only where a cut of it fits the limit
    small_edge: float = 1.0
    edge_bytes: int = 60  # bytes that an edge takes for each of its usage arcs while it is made and merged
    seed: int = 0  # of the drawn prices

    relaxation_gap: float = 1e-9  # the relative gap at which the multipliers of several limits are good enough
    # what floating point may hide of this gap, as a share of the error of the all-roots forest
    relaxation_rounding: float = 1e-13
    relaxation_rounds: int = 500  # the most closures of one relaxation. With a few limits ten to fifty are enough.
    smoothing: float = 0.15  # the weight of the best bound's multipliers where the next ones are tried
    inexact: float = 0.03  # the relative gap of a closure, as a share of the gap that is open: a better one would be wasted
    sharing_rounds: int = 100_000  # the most rounds of price sharing for one closure
    most_enriched: int = 3  # how often in a round the mixture is split into its level sets and solved again
    most_new_rows: int = 10  # rows that enter at a time where a limit is about every example

    # proof_leaves, proof_bytes: a proof with more leaves, or whose payments take more, is not kept: the answer says that its
    # bound has no certificate
    proof_leaves: int = 20_000
    proof_bytes: int = 2**30
    # the most branches that a proof makes beyond those of the search, where rounding left something open
    proof_branches: int = 3_000


DEFAULTS = WithinParams()
"""What is not set otherwise."""
