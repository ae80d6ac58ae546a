"""Column generation for LP1, with the budget row in the master."""
