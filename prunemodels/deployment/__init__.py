"""From a pruned forest to production: how large and how fast it is, and ONNX models that predict what it predicts."""

from formulations.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
