"""From a pruned forest to production: how large and how fast it is, and ONNX models that predict what it predicts."""

from prunemodels.deployment.float32_thresholds import float32_thresholds
from prunemodels.deployment.measurement import Deployment, ForestSize, Timing, forest_size, measure_deployment
from prunemodels.deployment.onnx_agreement import OnnxAgreement, compare_onnx
from prunemodels.deployment.onnx_models import to_onnx

__all__ = [
    "Deployment",
    "ForestSize",
    "OnnxAgreement",
    "Timing",
    "compare_onnx",
    "float32_thresholds",
    "forest_size",
    "measure_deployment",
    "to_onnx",
]
