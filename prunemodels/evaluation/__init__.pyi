"""The public names of this namespace, and where each lives; see `formulations.extras`."""

from prunemodels.evaluation.path import at_most as at_most, choose_row as choose_row, knee as knee, one_se as one_se
from prunemodels.evaluation.curve import TradeoffCurve as TradeoffCurve
from prunemodels.evaluation.evaluate import Evaluation as Evaluation
from prunemodels.evaluation.held_out import (
    HeldOut as HeldOut,
    HeldOutCost as HeldOutCost,
)
from prunemodels.statements.change import HeldOutChange as HeldOutChange
from prunemodels.statements.wording import LimitUse as LimitUse
from prunemodels.evaluation.path import PathEvaluation as PathEvaluation
