"""The public names of this namespace, and where each lives; see `formulations.extras`."""

from formulations.instance.papers import two_trees as two_trees
from prunemodels.datasets.heart import fetch_heart as fetch_heart
from prunemodels.datasets.heart import SmallForest as SmallForest, load_tumours as load_tumours
