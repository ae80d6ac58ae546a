"""The numbers that engines for linear and integer programs share."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProgramParams:
    """What these engines are run with; `PARAMS` is the one record.

    Parameters
    ----------
    most_nonzeros
        nonzeros of a program that is solved in this process; on larger ones engines overrun their limits by seconds.
    most_pyomo_nonzeros
        the same for a Pyomo model, which is built, and handed to HiGHS, by Python objects one by one.
    reserve_seconds
        seconds for each million nonzeros that a process keeps for an engine's overrun and for rounding what it found.
    grace_seconds
        seconds to wait for a cancelled solve to end.
    tolerance
        HiGHS' feasibility of rows, reduced costs and integers: as fast as its own 1e-7 on our programs.
    optimality
        relative tolerance of methods that do not end in a vertex.
    first_order_iterations
        the most iterations of PDLP. Where costs lie many orders of magnitude apart the tolerance may never be reached.
    most_threads
        of PDLP: two use the memory bandwidth of most machines fully.
    one_thread_nonzeros
        nonzeros up to which PDLP gets one thread: two would wait for each other longer than they work.
    most_searches
        after so many searches of branch and bound within limits the last bound is returned as it is.
    conflict_seconds
        the least seconds to look for the rows that leave a model without a point.
    most_named
        so many parts of such a conflict are named.
    """

    most_nonzeros: int = 300_000
    most_pyomo_nonzeros: int = 30_000
    reserve_seconds: float = 5.0
    grace_seconds: float = 3.0
    tolerance: float = 1e-9
    optimality: float = 1e-8
    first_order_iterations: int = 100_000
    most_threads: int = 2
    one_thread_nonzeros: int = 50_000
    most_searches: int = 50
    conflict_seconds: float = 10.0
    most_named: int = 6


PARAMS = ProgramParams()
"""The numbers in use."""
