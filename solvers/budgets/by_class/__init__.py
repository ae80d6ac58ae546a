"""Budgets for classes of examples."""
