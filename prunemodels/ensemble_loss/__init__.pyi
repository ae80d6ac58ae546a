"""The public names of this namespace, and where each lives; see `formulations.lazy_names`."""

from prunemodels.ensemble_loss.objective import ensemble_path as ensemble_path
from prunemodels.ensemble_loss.path import EnsemblePath as EnsemblePath
