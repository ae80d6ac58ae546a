"""Forests, cascades, mixtures and matrices in files."""
