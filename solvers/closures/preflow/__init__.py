"""Minimum cuts of closure networks by our own push-relabel, which can start from an earlier flow and runs in threads."""

from solvers.closures.preflow.closure import preflow_closure
from solvers.closures.preflow.flow import Flow

__all__ = ["Flow", "preflow_closure"]
