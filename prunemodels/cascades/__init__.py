"""Exits and cascades: predict cheaply, see how sure the model is, and only then buy more features."""

from formulations.extras import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
