"""Engines for `formulations.programs.linear_program.LinearProgram`, with the signature of `LinearEngine`.

``highs`` takes integer programs too. A new engine is one file and one line in `LINEAR_ENGINES`. The native libraries are
imported when an engine is called.
"""

from functools import partial

from solvers.programs.engines.answer import LinearAnswer, LinearEngine
from solvers.programs.engines.highs import highs
from solvers.programs.engines.or_tools import glop, pdlp

LINEAR_ENGINES: dict[str, LinearEngine] = {
    "highs": highs,
    "highs_ipm": partial(highs, method="ipm"),
    "highs_pdlp": partial(highs, method="pdlp"),
    "glop": glop,
    "pdlp": pdlp,
}

__all__ = ["LINEAR_ENGINES", "LinearAnswer", "LinearEngine", "glop", "highs", "pdlp"]
