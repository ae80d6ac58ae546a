"""The tuning numbers of price sharing, each with the measurement that chose it."""

from __future__ import annotations

from dataclasses import dataclass

from solvers.closures.cut import PredictedSeconds


@dataclass(frozen=True)
class SharingParams:
    """How price sharing steps, checks, merges, stops and cuts. No answer depends on these numbers, only the time it takes.

    Seconds are CPU seconds, fitted to BP16's MiniBooNE and Covertype forests with 50 to 15,000 cost rows (`python -m benchmarks
    --only sizes` sets predictions beside what it measures).
    """

    # Steps: (2) and (3) of `solvers.price_sharing.solve`.
    most_momentum: float = 0.95  # the largest factor of the momentum; nearer to 1 the scores swing
    # The most that momentum carries on, in limits of the round: without it scores drift three times as far, in no fewer rounds.
    most_carried: float = 3.0
    warm_start_iteration: int = 5  # rounds that count as made when a run starts from the scores of another lambda

    # Checks.
    rounds_per_check: int = 10  # rounds between two checks of value, bound and what can be fixed; a check costs about two rounds
    newest: float = 0.2  # weight of the last round's levels in their mean; each earlier round has 0.8 times the next's
    least_share_fixed: float = 0.05  # a check fixes splits only if it fixes this share of the open ones: each time adds a stage
    seconds_between_writes: float = 1.0  # least seconds between two checkpoints: on small instances writing outlasts the rounds

    # Passes over usage arcs.
    one_thread_arcs: int = 200_000  # with fewer usage arcs one thread is faster than two
    one_thread_splits: int = 20_000  # with fewer splits one thread passes faster over the trees than two
    most_bytes: int = 64_000_000  # bytes of merged lists; where they would take more, slices are read as they are
    most_left: float = 0.75  # purchases are not merged where more than this share of the usage arcs would be left
    sampled_arcs: int = 8  # usage arcs whose items are looked at to estimate that share

    # When the core is cut, see `solvers.price_sharing.loop`.
    small_core: int = 50_000  # a core of at most so many merged usage arcs is cut at once: that costs about ten more rounds
    small_proof: int = 500_000  # usage arcs of a core that is cut without a look at memory: its proof has 8 bytes for each
    large_core: int = 20_000_000  # merged usage arcs above which a cut counts as proportionally dearer, because of its memory
    idle_rounds: int = 400  # rounds without progress after which a run that cannot cut its core ends
    # The same where the relative gap is at most `close`: very many splits then go at nearly this lambda, and rounds do not part
    # them.
    idle_rounds_when_close: int = 100
    close: float = 1e-6
    core_arc: float = 0.25e-6  # seconds of a cut of the core for each merged arc: push-relabel from the shares, 14.6 million arcs
    cut_seconds: PredictedSeconds = PredictedSeconds()  # what a cut by OR-Tools takes, and any cut for each split
    round_seconds: PredictedSeconds = PredictedSeconds(1.5e-9, 26e-9)  # what a round takes; most usage arcs are merged

    # Bytes of a cut for each usage arc where nothing is merged: 60 to 84 with 0.5 to 5.2 million usage arcs. The network takes 73
    # for each of its arcs, and merging leaves 0.46 to 0.71 network arcs a usage arc.
    cut_bytes_per_arc: int = 85
    cut_bytes_per_merged_arc: int = 125  # the same for each arc of merged lists; 112 to 123 on the same forests
    flow_bytes_per_arc: int = 10  # bytes for each usage arc when the flow of a merged core is divided; the flow takes 8

    # The choice between a cut of the whole instance and price sharing, see `solvers.automatic`.
    full_rounds: int = 55  # a run takes as long as so many rounds with all splits open; ten of them merge purchases
    cut_time_margin: float = 4.0  # a cut, which cannot be stopped, is chosen if its seconds are that much below the time limit


@dataclass(frozen=True)
class ClusterParams:
    """What workers take, measured on Ray with cores of 2.6 and 5.1 million usage arcs."""

    # Bytes of a worker for each usage arc that it lists, with the copy that is sent: 59 to 61.
    listing_bytes_per_arc: int = 64
    # Bytes of the driver for each usage arc that workers send: Ray's store keeps its pages after the lists were read.
    store_bytes_per_arc: int = 24
    bytes_per_split: float = 12.0  # bytes that a round exchanges with a worker for each open split: a score of 4, a charge of 8
    # Seconds within which an address must accept a connection; a network that needs longer is too slow for the rounds.
    connection_seconds: float = 10.0
