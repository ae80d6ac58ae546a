"""Any fitted model as its trees: what to read, price, prune and write it with."""
