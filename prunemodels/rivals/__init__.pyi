"""The public names of this namespace, and where each lives; see `formulations.extras`."""

from formulations import PruningSequence as PruningSequence
from prunemodels.rivals.budget_rf import BudgetRFClassifier as BudgetRFClassifier
from prunemodels.rivals.cegb import CEGBClassifier as CEGBClassifier, CEGBRegressor as CEGBRegressor
from prunemodels.rivals.cost_complexity import (
    cost_complexity_path as cost_complexity_path,
    early_stopping_path as early_stopping_path,
)
from prunemodels.rivals.cstc import CSTCClassifier as CSTCClassifier, CSTCRegressor as CSTCRegressor
from prunemodels.rivals.greedy_miser import (
    GreedyMiserClassifier as GreedyMiserClassifier,
    GreedyMiserRegressor as GreedyMiserRegressor,
)
from prunemodels.rivals.tree_by_tree import (
    greedy_feature_path as greedy_feature_path,
    individual_path as individual_path,
)
