"""The public names of this namespace, and where each lives; see `formulations.lazy_names`."""

from formulations.answers.lp1_solution import LP1Solution as LP1Solution
from formulations.answers.limits_solution import LimitsSolution as LimitsSolution
from prunemodels.evaluation.certified_budget import (
    CertifiedBudget as CertifiedBudget,
    budget_for_confidence as budget_for_confidence,
)
from prunemodels.files.mixtures import load_mixture as load_mixture
from prunemodels.models.forests.mixture import MixturePredictor as MixturePredictor, mixture_of as mixture_of
from solvers.budgets import solve_lp1 as solve_lp1
