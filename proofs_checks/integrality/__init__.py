"""Polyhedra in exact numbers: vertices, integrality, and how far a relaxation is below the optimum."""
