"""The public names, and where each lives: the only list of them. Python and type checkers both read it."""

from prunemodels import (
    budgets as budgets,
    cascades as cascades,
    checks as checks,
    cluster as cluster,
    datasets as datasets,
    engines as engines,
    errors as errors,
    evaluation as evaluation,
    on_demand as on_demand,
    other_libraries as other_libraries,
    plots as plots,
    programs as programs,
    rivals as rivals,
    samples as samples,
    tables as tables,
)
from formulations import (
    CostItems as CostItems,
    Ensemble as Ensemble,
    Pruning as Pruning,
    PruningPath as PruningPath,
    PruningProblem as PruningProblem,
    Solution as Solution,
)
from formulations.answers.limited_solution import LimitedSolution as LimitedSolution
from formulations.instance.limit import Limit as Limit
from prunemodels.comparison.compare import compare as compare
from prunemodels.estimators import (
    BudgetPrunedForestClassifier as BudgetPrunedForestClassifier,
    BudgetPrunedForestRegressor as BudgetPrunedForestRegressor,
    PrunedForest as PrunedForest,
    prune_forest as prune_forest,
)
from prunemodels.evaluation.curve import tradeoff_curve as tradeoff_curve
from prunemodels.evaluation.evaluate import evaluate as evaluate
from prunemodels.evaluation.held_out import hold_out as hold_out
from prunemodels.evaluation.path import evaluate_path as evaluate_path
from prunemodels.cascades.budget_cascade import (
    BudgetCascadeClassifier as BudgetCascadeClassifier,
    BudgetCascadeRegressor as BudgetCascadeRegressor,
)
from prunemodels.cascades.forest_exits import exit_path as exit_path
from prunemodels.cascades.forest_exits import CascadeClassifier as CascadeClassifier, CascadeRegressor as CascadeRegressor
from prunemodels.cascades.cascade_files import load_cascade as load_cascade, save_cascade as save_cascade
from prunemodels.files.forests import load_forest as load_forest, save_forest as save_forest
from prunemodels.models.forests.problems import problem_from_forest as problem_from_forest
from prunemodels.models.forests.reading import read_forest as read_forest
from prunemodels.models.forests.problems import apply_pruning as apply_pruning
from prunemodels.on_demand.predictor import OnDemandPredictor as OnDemandPredictor
from prunemodels.models.libraries.reading import prune_model as prune_model
from prunemodels.models.boosting.boosted import prune_boosted as prune_boosted
from prunemodels.models.libraries.reading import read_model as read_model
from prunemodels.report_page import write_report as write_report
from prunemodels.solving import solve as solve
from prunemodels.models.unused_columns import drop_unused as drop_unused
from solvers import SOLVERS as SOLVERS, pruning_path as pruning_path
from solvers.within import BUDGET_SOLVERS as BUDGET_SOLVERS

__version__: str
