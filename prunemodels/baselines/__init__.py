"""Other prunings of a forest, as nested families: what optimal pruning is compared with."""
