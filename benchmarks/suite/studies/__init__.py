"""All studies; a new one is a function and a line here."""

from functools import partial

from benchmarks.suite.studies.cuts import measure_cuts
from benchmarks.suite.studies.decompositions import DATA, measure_dantzig_wolfe, measure_primal_dual
from benchmarks.suite.studies.linear_programs import measure_linear_programs
from benchmarks.suite.studies.paths import measure_path
from benchmarks.suite.studies.scale import measure_scale
from benchmarks.suite.study import Study

_ALL = (
    Study("cuts-miniboone", "one lambda against the raw cut", partial(measure_cuts, "miniboone"), ("miniboone",)),
    Study("cuts-covertype", "one lambda against the raw cut", partial(measure_cuts, "covtype426k"), ("covtype426k",)),
    Study("path-miniboone", "all of the path against cuts", partial(measure_path, "miniboone"), ("miniboone",)),
    Study("path-covertype", "all of the path against cuts", partial(measure_path, "covtype426k"), ("covtype426k",)),
    Study("lp-highs", "HiGHS on IP3 and on the closure form", partial(measure_linear_programs, "highs"), ("miniboone",)),
    Study("lp-pdlp", "PDLP on IP3 and on the closure form", partial(measure_linear_programs, "pdlp"), ("miniboone",)),
    Study("decomposition-primal-dual", "Algorithm 1 of BP16", measure_primal_dual, ("miniboone",)),
    Study("decomposition-dantzig-wolfe", "Dantzig-Wolfe decomposition", measure_dantzig_wolfe, tables=DATA),
    Study("scale-hepmass", "1.4 million cost rows", partial(measure_scale, "hepmass"), scale=True),
    Study("scale-yahoo", "519 priced features", partial(measure_scale, "yahoo"), scale=True),
)

STUDIES = {study.name: study for study in _ALL}
