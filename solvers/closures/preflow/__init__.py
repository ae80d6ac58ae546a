"""Minimum cuts of closure networks by our own push-relabel, which can start from an earlier flow and runs in threads."""

from solvers.closures.preflow.closure import UNLIMITED, Flow, preflow_closure, shared_flow

__all__ = ["UNLIMITED", "Flow", "preflow_closure", "shared_flow"]
