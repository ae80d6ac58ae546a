"""Any fitted model as its trees, for the functions that take models of every kind."""
