"""Which raw columns each feature of a pipeline's model is made from, and how rows of raw columns become its features."""

from prunemodels.models.columns.pipelines import TracedColumns, trace_pipeline

__all__ = ["TracedColumns", "trace_pipeline"]
