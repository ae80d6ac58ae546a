"""The public names of this namespace, and where each lives; see `formulations.lazy_names`."""

from prunemodels.other_libraries.averaged import problem_from_model as problem_from_model
from prunemodels.other_libraries.boosted import boosted_path as boosted_path
from prunemodels.other_libraries.boosted_pruning import BoostedPath as BoostedPath, BoostedPruning as BoostedPruning
from prunemodels.other_libraries.model_forest import ModelForest as ModelForest
