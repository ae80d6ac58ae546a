"""An estimate of the seconds of a round on a cluster, from measured constants and the sizes of an instance.

R rows, divided evenly among W workers of one core each; S splits and n nodes in T trees, A usage arcs a row, M items, F features.

    pass       =  R / W  A  arc                                        a worker's own rows                                (1)
    exchange   =  empty + W (call + 4 S out + 8 S into + 12 S / network + S adding)     the driver, for all workers       (2)
    trees      =  S tree                                               the driver                                         (3)
    round      =  (1) + (2) + (3)                                      nothing overlaps                                   (4)
    check      =  checks of (1) + twice (2) + 5 trees                                                                     (5)
    start      =  R / W  T  route                                      each worker routes its rows                        (6)

(1) falls with W and (2) grows. They are equal, and (4) is near its minimum, at

    W*  =  sqrt(R A arc / (call + 12 S / network + ...)),      from the terms of (2) with the factor W                   (7)

Bytes of a worker are those of `solvers.price_sharing.memory` for its rows: routing 4 T + 24 a row, in blocks of B rows 2 T a row
and 8 n a block, what is paid M a row; and 4 F a row of table until it is routed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from formulations.instance.row_blocks import BLOCK


@dataclass(frozen=True)
class Constants:
    """Constants measured on one machine, except for the network.

    Parameters
    ----------
    arc
        seconds a usage arc and round, one core.
    checks
        passes that a check costs.
    route
        seconds a row and tree, once.
    empty, call
        seconds of a round without data: a fixed part, and a part for each worker.
    out, into
        seconds a byte that is sent to each worker, or gathered from it, through Ray on one machine.
    adding, tree
        seconds a split at the driver: to add one worker's charges; of a pass over the trees, with steps and averages.
    process
        bytes of a worker without data.
    network
        bytes a second at the driver, an assumption.
    """

    arc: float
    checks: float
    route: float
    empty: float
    call: float
    out: float
    into: float
    adding: float
    tree: float
    process: float
    network: float = 1.25e9


@dataclass(frozen=True)
class Shape:
    """Sizes of an instance: trees, splits, nodes, items, features, usage arcs a row."""

    trees: int
    splits: int
    nodes: int
    items: int
    features: int
    arcs: float


HEPMASS = Shape(trees=40, splits=225_352, nodes=450_744, items=28, features=28, arcs=612_651_973 / 1_400_000)
"""The instance of `benchmarks.scale`: 40 entropy trees grown on 100,000 rows, 612,651,973 usage arcs for 1.4 million rows."""


@dataclass(frozen=True)
class Estimate:
    """The estimate for one instance and a number of workers.

    Parameters
    ----------
    work, exchange, trees, check, start
        seconds by (1) to (3), (5), (6).
    bytes_a_round
        to and from the driver, for all workers.
    memory, reading
        bytes of a worker, and while it holds its table too.
    balance
        W* of (7).
    """

    rows: float
    workers: int
    work: float
    exchange: float
    trees: float
    check: float
    start: float
    bytes_a_round: float
    memory: float
    reading: float
    balance: float

    @property
    def round(self) -> float:
        """Seconds by (4)."""
        return self.work + self.exchange + self.trees

    @property
    def efficiency(self) -> float:
        """The share of a round in which workers are busy; by Amdahl's law also speed-up / W."""
        return self.work / self.round

    def run(self, rounds: int, checks: int) -> float:
        """Seconds from rows in files to the end of the given rounds and checks, each as long as the first."""
        return self.start + rounds * self.round + checks * self.check


def cluster_estimate(rows: float, workers: int, constants: Constants, shape: Shape = HEPMASS) -> Estimate:
    """(1) to (7).

    Raises
    ------
    ValueError
        for fewer rows than workers, or no worker.
    """
    if not 1 <= workers <= rows:
        raise ValueError(f"workers is {workers}; {rows:g} rows can be parted among 1 to {rows:g} workers")
    c, s, part = constants, shape.splits, rows / workers
    each = c.call + s * (4 * c.out + 8 * c.into + 12 / c.network + c.adding)
    work, exchange, trees = part * shape.arcs * c.arc, c.empty + workers * each, s * c.tree
    memory = part * (6 * shape.trees + 24 + shape.items) + 8 * shape.nodes * math.ceil(part / BLOCK) + c.process
    return Estimate(
        rows=rows,
        workers=workers,
        work=work,
        exchange=exchange,
        trees=trees,
        check=c.checks * work + 2 * exchange + 5 * trees,
        start=part * shape.trees * c.route,
        bytes_a_round=12.0 * s * workers,
        memory=memory,
        reading=memory + 4 * part * shape.features,
        balance=math.sqrt(rows * shape.arcs * c.arc / each),
    )


def scaling_table(cases: list[tuple[float, int]], constants: Constants, rounds: int, checks: int, shape: Shape = HEPMASS) -> str:
    """One line for each pair of rows and workers."""
    lines = ["| rows | workers | pass, s | exchange, s | round, s | workers busy | bytes a round | memory a worker | all, min |"]
    lines.append("| ---: |" + " ---: |" * 8)
    for rows, workers in cases:
        e = cluster_estimate(rows, workers, constants, shape)
        lines.append(
            f"| {_power(rows)} | {workers:,} | {e.work:.3g} | {e.exchange:.2g} | {e.round:.3g} | {100 * e.efficiency:.0f} % "
            f"| {_bytes(e.bytes_a_round)} | {_bytes(e.memory)} | {e.run(rounds, checks) / 60:.3g} |"
        )
    return "\n".join(lines)


def _power(number: float) -> str:
    exponent = math.floor(math.log10(number))
    front = number / 10**exponent
    return f"10^{exponent}" if front == 1 else f"{front:g} 10^{exponent}"


def _bytes(n: float) -> str:
    return next(f"{n / size:.3g} {unit}" for size, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")) if n >= size)
