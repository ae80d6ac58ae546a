"""The tuning numbers of paths, each with what it is for."""

from __future__ import annotations

import os
from dataclasses import dataclass

from solvers.price_sharing.params import SharingParams


@dataclass(frozen=True)
class PathParams:
    """How a path is divided and proven. The path is the same for any numbers; they change the time, memory and the proof."""

    # Guesses, see `solvers.path.guess`. A round costs 2 to 4 ns an arc, a cut of a large network several hundred.
    guess_arcs: int = 60_000  # a guess is made with more usage arcs than that; fewer are cut at once
    divisions: int = 2  # how often parts are divided by guesses
    guess_rounds: int = 20  # rounds before each division; after 30 from nothing scores have left the range of a float
    watched_rounds: int = 4  # a level lies between the least and the largest of so many last rounds, up to the next line
    level_error: float = 1.2  # error of the logarithm of a level after one round; after r rounds an r-th of it
    bands: int = 16  # each division sets at most one threshold in each of so many bands of equally many arcs
    largest_level: float = 12.0  # logarithms of levels, relative to the lambda of their part, are cut to plus or minus this
    near: int = 4096  # numerator or denominator of a lambda where any lambda nearby will do

    # Cuts, see `solvers.path.decomposition`.
    threads: int = min(2, os.cpu_count() or 1)  # there are too few large parts for more than two
    one_thread_arcs: int = 20_000  # parts with together at most so many usage arcs are divided to their ends by one thread
    most_repairs: int = 8  # after so many repairs the guesses are given up, and everything is cut again without them

    # Large parts, see `solvers.path.large_parts`.
    largest_network: int = 20_000_000  # usage arcs of a part that is cut as a network, where half of the free memory holds it
    network_bytes: int = 150  # bytes of a network for each usage arc, with all of a cut
    likely: float = 1e-5  # relative gap at which an end of a part is taken for its optimum, where rounds found nothing better
    quick_cut: int = 1_000_000  # usage arcs of a core that is cut all the same: that takes no longer than the proof
    most_rounds: int = 400  # rounds after which an undecided part is cut, or given up where the cut does not fit into memory
    sharing: SharingParams = SharingParams()

    # The proof by shares, see `solvers.path.proof_by_shares`.
    tries: tuple[int, ...] = (20, 40, 80, 160, 320)  # rounds after which what is missing is moved where that is possible
    few_purchases: int = 4  # purchases for each split along which it moves first, at least
    many_purchases: int = 64  # the same, at most
    purchases_in_all: int = 1_000_000  # the same, for all splits together
    all_arcs: int = 4_000_000  # where these do not suffice, all usage arcs of so many levels together are tried as have that many
    share_bits: int = 30  # bits of the smallest price, in the unit of shares, where they fit
    rest_bits: int = 20  # what is missing on a level is taken to be less than 2^-20 of its gains when that unit is chosen
    least_limit: float = 0.06  # levels are told apart that far from their breakpoint at least, as logarithms
    # Usage arcs of an edge around a budget up to which the proof closes its gap, at 120 bytes each; else the gap is told.
    most_arcs_around: int = 40_000_000
