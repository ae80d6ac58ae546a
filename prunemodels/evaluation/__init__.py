"""What prunings cost and how often they err on data that played no part, and choices made by it."""

from prunemodels.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
