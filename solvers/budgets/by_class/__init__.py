"""Budgets for groups of examples."""
