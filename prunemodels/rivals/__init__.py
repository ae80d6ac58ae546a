"""Forests and other models whose training counts prices: the rivals of pruning, and sources of forests to prune."""

from formulations.extras import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
