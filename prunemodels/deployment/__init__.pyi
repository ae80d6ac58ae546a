from prunemodels.deployment.onnx_models import (
    OnnxAgreement as OnnxAgreement,
    compare_onnx as compare_onnx,
    float32_thresholds as float32_thresholds,
    to_onnx as to_onnx,
)
from prunemodels.deployment.sizes import (
    Deployment as Deployment,
    ForestSize as ForestSize,
    Timing as Timing,
    forest_size as forest_size,
    measure_deployment as measure_deployment,
)
