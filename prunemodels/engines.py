"""The engines, each with its own options, and the types of their answers. `prunemodels.solve` chooses among the engines."""

from formulations.extras import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
