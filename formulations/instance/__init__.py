"""The data of a problem: trees, prices, routing, errors, and all of it in integers."""
