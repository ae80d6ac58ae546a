"""What prunings cost and how often they err on data that played no part, and choices made by it."""
