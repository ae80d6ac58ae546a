"""Budgets beside `prunemodels.solve`: LP1 by its name, a stated confidence, and answers in files."""

from formulations.extras import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
