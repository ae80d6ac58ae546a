"""Pruning of models whose trees add up, by a majoriser of their loss."""
