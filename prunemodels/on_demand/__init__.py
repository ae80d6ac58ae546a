"""Predict while buying features: ask for what the trees need next, and for nothing else."""

from prunemodels.on_demand.errors import AcquisitionFailedError, InterruptedAcquisitionError
from prunemodels.on_demand.predictor import OnDemandPredictor
from prunemodels.on_demand.request import UNAVAILABLE, Acquire, Request, from_table
from prunemodels.on_demand.result import OnDemandResult
from prunemodels.on_demand.tree_order import cheap_trees_first
from prunemodels.on_demand.walk import Walk

__all__ = [
    "UNAVAILABLE",
    "Acquire",
    "AcquisitionFailedError",
    "InterruptedAcquisitionError",
    "OnDemandPredictor",
    "OnDemandResult",
    "Request",
    "Walk",
    "cheap_trees_first",
    "from_table",
]
