from prunemodels.deployment.forests import (
    Deployment as Deployment,
    ForestSize as ForestSize,
    OnnxAgreement as OnnxAgreement,
    Timing as Timing,
    compare_onnx as compare_onnx,
    float32_thresholds as float32_thresholds,
    forest_size as forest_size,
    measure_deployment as measure_deployment,
    to_onnx as to_onnx,
)
