"""The public names of this namespace, and where each lives; see `formulations.extras`."""

from prunemodels.models.libraries.reading import problem_from_model as problem_from_model
from prunemodels.models.boosting.boosted import boosted_path as boosted_path
from prunemodels.models.boosting.boosted_pruning import BoostedPath as BoostedPath, BoostedPruning as BoostedPruning
from prunemodels.models.libraries.model_forest import ModelForest as ModelForest
