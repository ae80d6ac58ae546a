"""Forests and other models that are grown with prices in mind: the rivals of pruning, and sources of forests to prune."""
