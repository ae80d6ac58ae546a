"""The public names, and where they live: the only list of them. Python and type checkers both read it."""

from formulations import (
    BrokenFileError as BrokenFileError,
    CapacityOverflowError as CapacityOverflowError,
    CostItems as CostItems,
    Ensemble as Ensemble,
    InterruptedSolveError as InterruptedSolveError,
    InvalidInputError as InvalidInputError,
    NotFittedForestError as NotFittedForestError,
    PruneModelsError as PruneModelsError,
    Pruning as Pruning,
    PruningPath as PruningPath,
    PruningProblem as PruningProblem,
    PruningSequence as PruningSequence,
    Solution as Solution,
    SolverFailedError as SolverFailedError,
    Status as Status,
    StopReason as StopReason,
    UnsupportedModelError as UnsupportedModelError,
)
from formulations.models import FORMULATIONS as FORMULATIONS, read as read, read_point as read_point
from formulations.programs.sizes import size_report as size_report
from prunemodels.rivals.baselines import (
    cost_complexity_path as cost_complexity_path,
    early_stopping_path as early_stopping_path,
    greedy_feature_path as greedy_feature_path,
    individual_path as individual_path,
    sub_forest_path as sub_forest_path,
)
from prunemodels.tables import (
    ChunkedTable as ChunkedTable,
    GivenTable as GivenTable,
    evaluate_on_table as evaluate_on_table,
    evaluate_path_on_table as evaluate_path_on_table,
    hold_out_on_table as hold_out_on_table,
    problem_from_table as problem_from_table,
)
from prunemodels.exits.cascade_files import load_cascade as load_cascade, save_cascade as save_cascade
from prunemodels.comparison.compare import compare as compare
from prunemodels.comparison.growth import measure_growth as measure_growth
from prunemodels.deployment import (
    compare_onnx as compare_onnx,
    float32_thresholds as float32_thresholds,
    measure_deployment as measure_deployment,
    to_onnx as to_onnx,
)
from prunemodels.ensemble_loss.objective import ensemble_path as ensemble_path
from prunemodels.ensemble_loss.path import EnsemblePath as EnsemblePath
from prunemodels.forests.error_samples import Blend as Blend, Given as Given, InBag as InBag, OutOfBag as OutOfBag
from prunemodels.estimators import (
    BudgetPrunedForestClassifier as BudgetPrunedForestClassifier,
    BudgetPrunedForestClassifierCV as BudgetPrunedForestClassifierCV,
    BudgetPrunedForestRegressor as BudgetPrunedForestRegressor,
    BudgetPrunedForestRegressorCV as BudgetPrunedForestRegressorCV,
    PrunedForest as PrunedForest,
    prune_forest as prune_forest,
)
from prunemodels.evaluation.certified_budget import budget_for_confidence as budget_for_confidence
from prunemodels.judging.curve import TradeoffCurve as TradeoffCurve, tradeoff_curve as tradeoff_curve
from prunemodels.judging.evaluate import Evaluation as Evaluation, evaluate as evaluate
from prunemodels.evaluation.held_out import (
    HeldOut as HeldOut,
    HeldOutCost as HeldOutCost,
    held_out_cost as held_out_cost,
    held_out_error as held_out_error,
    hold_out as hold_out,
)
from prunemodels.evaluation.path import PathEvaluation as PathEvaluation, evaluate_path as evaluate_path
from prunemodels.exits import (
    BudgetCascadeClassifier as BudgetCascadeClassifier,
    BudgetCascadeRegressor as BudgetCascadeRegressor,
    CascadeClassifier as CascadeClassifier,
    CascadeRegressor as CascadeRegressor,
    ExitPath as ExitPath,
    Stages as Stages,
    evaluate_exit_path as evaluate_exit_path,
    exit_path as exit_path,
    staged_model as staged_model,
)
from prunemodels.forests.reading import read_forest as read_forest
from prunemodels.rivals.budget_rf import BudgetRFClassifier as BudgetRFClassifier
from prunemodels.rivals.cegb import CEGBClassifier as CEGBClassifier, CEGBRegressor as CEGBRegressor
from prunemodels.rivals.cstc import (
    ASTCClassifier as ASTCClassifier,
    ASTCRegressor as ASTCRegressor,
    CSTCClassifier as CSTCClassifier,
    CSTCRegressor as CSTCRegressor,
)
from prunemodels.rivals.greedy_miser import (
    GreedyMiserClassifier as GreedyMiserClassifier,
    GreedyMiserRegressor as GreedyMiserRegressor,
)
from prunemodels.forests.mixture import MixturePredictor as MixturePredictor, mixture_of as mixture_of
from prunemodels.files.mixtures import load_mixture as load_mixture
from prunemodels.on_demand import (
    UNAVAILABLE as UNAVAILABLE,
    AcquisitionFailedError as AcquisitionFailedError,
    InterruptedAcquisitionError as InterruptedAcquisitionError,
    OnDemandPredictor as OnDemandPredictor,
    OnDemandResult as OnDemandResult,
    cheap_trees_first as cheap_trees_first,
    from_table as from_table,
)
from prunemodels.other_libraries import (
    BoostedPath as BoostedPath,
    BoostedPruning as BoostedPruning,
    boosted_path as boosted_path,
    evaluate_model as evaluate_model,
    problem_from_model as problem_from_model,
    prune_boosted as prune_boosted,
    prune_model as prune_model,
    read_model as read_model,
)
from prunemodels.plots.budget import plot_budget as plot_budget
from prunemodels.plots.choice import plot_choice as plot_choice
from prunemodels.plots.curves import plot_curves as plot_curves
from prunemodels.plots.cut import plot_cut as plot_cut
from prunemodels.plots.exits import plot_exits as plot_exits
from prunemodels.plots.gap import plot_gaps as plot_gaps
from prunemodels.plots.growth import plot_growth as plot_growth
from prunemodels.plots.history import plot_history as plot_history
from prunemodels.plots.levels import plot_levels as plot_levels
from prunemodels.plots.matrices import plot_certificate as plot_certificate, plot_matrix as plot_matrix
from prunemodels.plots.tradeoff import plot_tradeoff as plot_tradeoff
from prunemodels.plots.trees import plot_point as plot_point, plot_trees as plot_trees
from prunemodels.forests.problems import problem_from_forest as problem_from_forest
from benchmarks.data import (
    load_cifar10 as load_cifar10,
    load_hepmass as load_hepmass,
    load_scene15 as load_scene15,
    load_yahoo as load_yahoo,
)
from benchmarks.data.ranking import average_precision_at_5 as average_precision_at_5
from prunemodels.report_page import write_report as write_report
from prunemodels.forests.surgery import apply_pruning as apply_pruning
from solvers import (
    SOLVERS as SOLVERS,
    PathPoint as PathPoint,
    dantzig_wolfe as dantzig_wolfe,
    integer_program as integer_program,
    linear_program as linear_program,
    memory_needed as memory_needed,
    min_cut as min_cut,
    optimal_pruning as optimal_pruning,
    price_sharing as price_sharing,
    price_sharing_path as price_sharing_path,
    primal_dual as primal_dual,
    pruning_path as pruning_path,
    solve_model as solve_model,
    solve_relaxation as solve_relaxation,
)
from solvers.budgets import (
    BUDGET_SOLVERS as BUDGET_SOLVERS,
    solve_budget as solve_budget,
    solve_class_budgets as solve_class_budgets,
    solve_worst_case as solve_worst_case,
)
from formulations.programs.files import write_program as write_program

__version__: str
