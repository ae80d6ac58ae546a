"""Checks of solutions, paths and budget solutions: values and bounds are recounted from trees, rows and prices."""
