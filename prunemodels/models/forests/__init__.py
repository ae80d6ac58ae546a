"""Forests in and out: reading, prices, errors of nodes, problems, surgery."""
