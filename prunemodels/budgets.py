"""Kinds of budgets besides those of `prunemodels.solve`: for the dearest example, with a stated confidence, and by mixtures."""

from formulations.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
