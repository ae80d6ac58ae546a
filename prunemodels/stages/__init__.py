"""Stages: models of which each buys more than the one before, their outputs, prices and exit policies."""
