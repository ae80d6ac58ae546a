"""Optimal pruning of tree ensembles under prediction-time cost.

>>> path = pm.pruning_path(pm.problem_from_forest(forest, X_valid, costs=costs))   # doctest: +SKIP
>>> cheap = pm.apply_pruning(path.at_cost(24.0), forest)                           # doctest: +SKIP
"""

# ruff: noqa: E402 (nothing of ours may be imported before the check)
from prunemodels.siblings import check_siblings

check_siblings()

import importlib
from typing import TYPE_CHECKING

from prunemodels.public_names import HOMES

if TYPE_CHECKING:
    from formulations import (
        BrokenFileError,
        CapacityOverflowError,
        CostItems,
        Ensemble,
        InterruptedSolveError,
        InvalidInputError,
        NotFittedForestError,
        PruneModelsError,
        Pruning,
        PruningPath,
        PruningProblem,
        PruningSequence,
        Solution,
        SolverFailedError,
        Status,
        StopReason,
        UnsupportedModelError,
    )
    from formulations.models import FORMULATIONS, read, read_point
    from formulations.sizes import size_report
    from prunemodels.baselines import (
        cost_complexity_path,
        early_stopping_path,
        greedy_feature_path,
        individual_path,
        sub_forest_path,
    )
    from prunemodels.big_tables import (
        ChunkedTable,
        GivenTable,
        evaluate_on_table,
        evaluate_path_on_table,
        hold_out_on_table,
        problem_from_table,
    )
    from prunemodels.comparison.compare import compare
    from prunemodels.comparison.growth import measure_growth
    from prunemodels.deployment import compare_onnx, float32_thresholds, measure_deployment, to_onnx
    from prunemodels.ensemble_loss.objective import ensemble_path
    from prunemodels.ensemble_loss.path import EnsemblePath
    from prunemodels.error_samples import Blend, Given, InBag, OutOfBag
    from prunemodels.estimators import (
        BudgetPrunedForestClassifier,
        BudgetPrunedForestClassifierCV,
        BudgetPrunedForestRegressor,
        BudgetPrunedForestRegressorCV,
        PrunedForest,
        prune_forest,
    )
    from prunemodels.evaluation.certified_budget import budget_for_confidence
    from prunemodels.evaluation.curve import TradeoffCurve, tradeoff_curve
    from prunemodels.evaluation.forest import Evaluation, evaluate
    from prunemodels.evaluation.held_out import HeldOut, HeldOutCost, held_out_cost, held_out_error, hold_out
    from prunemodels.evaluation.path import PathEvaluation, evaluate_path
    from prunemodels.exits import (
        BudgetCascadeClassifier,
        BudgetCascadeRegressor,
        CascadeClassifier,
        CascadeRegressor,
        ExitPath,
        evaluate_exit_path,
        exit_path,
    )
    from prunemodels.forests import read_forest
    from prunemodels.learners.budget_rf import BudgetRFClassifier
    from prunemodels.learners.cegb import CEGBClassifier, CEGBRegressor
    from prunemodels.learners.cstc import ASTCClassifier, ASTCRegressor, CSTCClassifier, CSTCRegressor
    from prunemodels.learners.greedy_miser import GreedyMiserClassifier, GreedyMiserRegressor
    from prunemodels.mixture import MixturePredictor, mixture_of
    from prunemodels.mixture_files import load_mixture
    from prunemodels.on_demand import (
        UNAVAILABLE,
        AcquisitionFailedError,
        InterruptedAcquisitionError,
        OnDemandPredictor,
        OnDemandResult,
        cheap_trees_first,
        from_table,
    )
    from prunemodels.other_libraries import (
        BoostedPath,
        BoostedPruning,
        boosted_path,
        evaluate_model,
        problem_from_model,
        prune_boosted,
        prune_model,
        read_model,
    )
    from prunemodels.pictures.budget import plot_budget
    from prunemodels.pictures.choice import plot_choice
    from prunemodels.pictures.curves import plot_curves
    from prunemodels.pictures.cut import plot_cut
    from prunemodels.pictures.exits import plot_exits
    from prunemodels.pictures.gap import plot_gaps
    from prunemodels.pictures.growth import plot_growth
    from prunemodels.pictures.history import plot_history
    from prunemodels.pictures.levels import plot_levels
    from prunemodels.pictures.matrices import plot_certificate, plot_matrix
    from prunemodels.pictures.tradeoff import plot_tradeoff
    from prunemodels.pictures.trees import plot_point, plot_trees
    from prunemodels.problems import problem_from_forest
    from prunemodels.published_data import load_cifar10, load_hepmass, load_scene15, load_yahoo
    from prunemodels.ranking import average_precision_at_5
    from prunemodels.report_page import write_report
    from prunemodels.surgery import apply_pruning
    from solvers import (
        SOLVERS,
        PathPoint,
        dantzig_wolfe,
        integer_program,
        linear_program,
        memory_needed,
        min_cut,
        optimal_pruning,
        price_sharing,
        price_sharing_path,
        primal_dual,
        pruning_path,
        solve_model,
        solve_relaxation,
    )
    from solvers.budgets import BUDGET_SOLVERS, solve_budget, solve_class_budgets, solve_worst_case
    from solvers.program_files import write_program

__version__ = "0.1.0"

__all__ = [
    "BUDGET_SOLVERS",
    "FORMULATIONS",
    "SOLVERS",
    "UNAVAILABLE",
    "ASTCClassifier",
    "ASTCRegressor",
    "AcquisitionFailedError",
    "Blend",
    "BoostedPath",
    "BoostedPruning",
    "BrokenFileError",
    "BudgetCascadeClassifier",
    "BudgetCascadeRegressor",
    "BudgetPrunedForestClassifier",
    "BudgetPrunedForestClassifierCV",
    "BudgetPrunedForestRegressor",
    "BudgetPrunedForestRegressorCV",
    "BudgetRFClassifier",
    "CEGBClassifier",
    "CEGBRegressor",
    "CSTCClassifier",
    "CSTCRegressor",
    "CapacityOverflowError",
    "CascadeClassifier",
    "CascadeRegressor",
    "ChunkedTable",
    "CostItems",
    "Ensemble",
    "EnsemblePath",
    "Evaluation",
    "ExitPath",
    "Given",
    "GivenTable",
    "GreedyMiserClassifier",
    "GreedyMiserRegressor",
    "HeldOut",
    "HeldOutCost",
    "InBag",
    "InterruptedAcquisitionError",
    "InterruptedSolveError",
    "InvalidInputError",
    "MixturePredictor",
    "NotFittedForestError",
    "OnDemandPredictor",
    "OnDemandResult",
    "OutOfBag",
    "PathEvaluation",
    "PathPoint",
    "PruneModelsError",
    "PrunedForest",
    "Pruning",
    "PruningPath",
    "PruningProblem",
    "PruningSequence",
    "Solution",
    "SolverFailedError",
    "Status",
    "StopReason",
    "TradeoffCurve",
    "UnsupportedModelError",
    "apply_pruning",
    "average_precision_at_5",
    "boosted_path",
    "budget_for_confidence",
    "cheap_trees_first",
    "compare",
    "compare_onnx",
    "cost_complexity_path",
    "dantzig_wolfe",
    "early_stopping_path",
    "ensemble_path",
    "evaluate",
    "evaluate_exit_path",
    "evaluate_model",
    "evaluate_on_table",
    "evaluate_path",
    "evaluate_path_on_table",
    "exit_path",
    "float32_thresholds",
    "from_table",
    "greedy_feature_path",
    "held_out_cost",
    "held_out_error",
    "hold_out",
    "hold_out_on_table",
    "individual_path",
    "integer_program",
    "linear_program",
    "load_cifar10",
    "load_hepmass",
    "load_mixture",
    "load_scene15",
    "load_yahoo",
    "measure_deployment",
    "measure_growth",
    "memory_needed",
    "min_cut",
    "mixture_of",
    "optimal_pruning",
    "plot_budget",
    "plot_certificate",
    "plot_choice",
    "plot_curves",
    "plot_cut",
    "plot_exits",
    "plot_gaps",
    "plot_growth",
    "plot_history",
    "plot_levels",
    "plot_matrix",
    "plot_point",
    "plot_tradeoff",
    "plot_trees",
    "price_sharing",
    "price_sharing_path",
    "primal_dual",
    "problem_from_forest",
    "problem_from_model",
    "problem_from_table",
    "prune_boosted",
    "prune_forest",
    "prune_model",
    "pruning_path",
    "read",
    "read_forest",
    "read_model",
    "read_point",
    "size_report",
    "solve_budget",
    "solve_class_budgets",
    "solve_model",
    "solve_relaxation",
    "solve_worst_case",
    "sub_forest_path",
    "to_onnx",
    "tradeoff_curve",
    "write_program",
    "write_report",
]

_HOME = {name: module for module, names in HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that the command line answers at once."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
