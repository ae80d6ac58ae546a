"""Pictures: the trade-off, budgets, trees, cuts, matrices, networks, histories. All are matplotlib figures."""
