"""The name that price sharing still imports; see `solvers.closures.tree_pass`."""

from solvers.closures.tree_pass import without_prices

__all__ = ["without_prices"]
