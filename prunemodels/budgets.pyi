"""The public names of this namespace, and where each lives; see `formulations.extras`."""

from formulations.answers.limited_solution import Chain as Chain, LP1Relaxation as LP1Relaxation
from formulations.answers.search_proof import SearchProof as SearchProof
from prunemodels.files.answers import load_solution as load_solution, save_solution as save_solution
from solvers.within import solve_lp1 as solve_lp1
