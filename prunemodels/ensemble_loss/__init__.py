"""Pruning for the forest's own loss: problems, searches and their paths."""
