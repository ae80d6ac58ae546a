"""Prunings: value and bound recounted from trees, rows and prices; paths; budgets."""
