"""The public names of this namespace, and where each lives; see `formulations.extras`."""

from prunemodels.cascades.evaluation import evaluate_exit_path as evaluate_exit_path
from prunemodels.cascades.exit_path import ExitPath as ExitPath
from prunemodels.stages.stages import Stages as Stages
from prunemodels.stages.table_preparation import prepared as prepared
