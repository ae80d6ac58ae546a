"""All studies; a new one is a function and a line here."""

from functools import partial

from benchmarks.suite.one_lambda import measure_cuts, measure_hard, measure_sizes
from benchmarks.suite.paths import measure_checks, measure_path
from benchmarks.suite.programs import DECOMPOSED, measure_dantzig_wolfe, measure_linear_programs, measure_primal_dual
from benchmarks.suite.study import Study

ON_FORESTS = {
    "cuts": ("one lambda against the raw cut", measure_cuts),
    "hard": ("lambdas beside long edges of the hull, and rounds without a cut", measure_hard),
    "sizes": ("the two exact engines by size, and what is predicted of them", measure_sizes),
    "path": ("all of the path against cuts", measure_path),
    "checks": ("checks against the solves that they check", measure_checks),
}
"""Studies on both of BP16's forests."""

_ALL = (
    *(
        Study(f"{name}-{forest}", title, partial(measure, data), (data,))
        for name, (title, measure) in ON_FORESTS.items()
        for forest, data in (("miniboone", "miniboone"), ("covertype", "covtype426k"))
    ),
    Study("lp-highs", "HiGHS on IP3 and on the closure form", partial(measure_linear_programs, "highs"), ("miniboone",)),
    Study("lp-pdlp", "PDLP on IP3 and on the closure form", partial(measure_linear_programs, "pdlp"), ("miniboone",)),
    Study("decomposition-primal-dual", "Algorithm 1 of BP16", measure_primal_dual, ("miniboone",)),
    Study(
        "decomposition-dantzig-wolfe",
        "Dantzig-Wolfe decomposition",
        measure_dantzig_wolfe,
        tuple(forest.data for forest in DECOMPOSED),
    ),
)

STUDIES = {study.name: study for study in _ALL}
