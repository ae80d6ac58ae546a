"""The exceptions of the package. Their texts say what is wrong, which value it has, and the remedy.

Every exception derives from `PruneModelsError`, and also from the built-in exception that
a caller would expect (`ValueError`, `TypeError`, ...), so either can be caught.
"""

from __future__ import annotations


class PruneModelsError(Exception):
    """Base class of all exceptions of this package."""


class InvalidInputError(PruneModelsError, ValueError):
    """An argument has a value that the problem is not defined for."""


class UnsupportedModelError(PruneModelsError, TypeError):
    """The model is not an averaged ensemble of decision trees that can be pruned exactly."""


class NotFittedForestError(PruneModelsError, ValueError):
    """The forest has no trees yet: it was not fitted."""


class CapacityOverflowError(PruneModelsError, OverflowError):
    """The integers of the instance do not fit the 64-bit capacities of a minimum cut."""


class SolverFailedError(PruneModelsError, RuntimeError):
    """A solver ended in a state that should not occur for its input."""


class BrokenFileError(PruneModelsError, OSError):
    """A file cannot be read, or does not hold what it should."""


class UnspentBudgetWarning(UserWarning):
    """The answer is within the budget, but spends less than half of it, where a better answer may lie in between."""


class InterruptedSolveError(PruneModelsError, KeyboardInterrupt):
    """The user stopped a long computation (Ctrl-C); nothing was changed or written."""
