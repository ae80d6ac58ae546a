"""The public names of this namespace, and where each lives; see `formulations.lazy_names`."""

from prunemodels.deployment.single_precision import float32_thresholds as float32_thresholds
from prunemodels.deployment.measurement import (
    Deployment as Deployment,
    ForestSize as ForestSize,
    Timing as Timing,
    forest_size as forest_size,
    measure_deployment as measure_deployment,
)
from prunemodels.deployment.onnx_agreement import OnnxAgreement as OnnxAgreement, compare_onnx as compare_onnx
from prunemodels.deployment.onnx_models import to_onnx as to_onnx
