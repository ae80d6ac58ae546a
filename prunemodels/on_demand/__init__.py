"""Predict while buying features: ask for what the trees need next, and for nothing else."""

from formulations.extras import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
