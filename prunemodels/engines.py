"""Engines by name, each with options of its own, and what they say of their answers. `prunemodels.solve` chooses among them."""

from prunemodels.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
