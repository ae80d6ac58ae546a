"""The public names of this namespace, and where each lives; see `formulations.extras`."""

from prunemodels.on_demand.request import (
    UNAVAILABLE as UNAVAILABLE,
    Request as Request,
    from_table as from_table,
)
from prunemodels.on_demand.result import OnDemandResult as OnDemandResult
from prunemodels.on_demand.walk import Walk as Walk
