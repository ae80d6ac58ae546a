"""Column generation with a budget in the master (LP1)."""
