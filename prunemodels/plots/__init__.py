"""Pictures: the trade-off, budgets, trees, cuts, matrices, networks, histories. All are matplotlib figures."""

from formulations.extras import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
