"""The exceptions of the package. Their texts say what is wrong, which value it has, and the remedy.

Every exception derives from `PruneModelsError`, and also from the built-in exception that
a caller would expect (`ValueError`, `TypeError`, ...), so either can be caught.
"""

from __future__ import annotations


class PruneModelsError(Exception):
    """Base class of all exceptions of this package.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> try:
    ...     pm.solve(problem, budget=-1)
    ... except pm.errors.PruneModelsError as error:
    ...     print(error)
    ...
    budget is -1, negative; give a number >= 0
    """


class InvalidInputError(PruneModelsError, ValueError):
    """An argument has a value that the problem is not defined for.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, forest
    >>> try:
    ...     pm.problem_from_forest(forest, X_valid, costs=[1, 2])
    ... except pm.errors.InvalidInputError as error:
    ...     print(error)
    ...
    costs has 2 prices, the forest was trained on 10 features
    """


class UnsupportedModelError(PruneModelsError, TypeError):
    """The model is not an averaged ensemble of decision trees that can be pruned exactly.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> import prunemodels as pm
    >>> try:
    ...     pm.read_forest(LinearRegression())
    ... except pm.errors.UnsupportedModelError as error:
    ...     print(str(error).split(";")[0])
    ...
    LinearRegression cannot be pruned
    """


class NotFittedForestError(PruneModelsError, ValueError):
    """The forest has no trees yet: it was not fitted.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> import prunemodels as pm
    >>> try:
    ...     pm.read_forest(RandomForestClassifier())
    ... except pm.errors.NotFittedForestError as error:
    ...     print(error)
    ...
    the RandomForestClassifier is not fitted: call fit(X, y) first
    """

    @classmethod
    def of(cls, model: object) -> NotFittedForestError:
        """The error for a model."""
        return cls(f"the {type(model).__name__} is not fitted: call fit(X, y) first")


class CapacityOverflowError(PruneModelsError, OverflowError):
    """Numbers of the instance are so far apart that nothing can be computed with both.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, forest
    >>> prices = [1e-200] + 9 * [1e200]
    >>> try:
    ...     pm.problem_from_forest(forest, X_valid, costs=prices)
    ... except pm.errors.CapacityOverflowError as error:
    ...     print(str(error)[:44], "...")
    ...
    a price of 1e-200 for an example of weight 1 ...
    """


class SolverFailedError(PruneModelsError, RuntimeError):
    """A solver ended in a state that should not occur for its input.

    Examples
    --------
    >>> import prunemodels as pm
    >>> issubclass(pm.errors.SolverFailedError, pm.errors.PruneModelsError)
    True
    """


class InfeasibleModelError(SolverFailedError):
    """No point satisfies all rows of a model; the message names the rows of the user's own that contradict each other.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import prunemodels as pm
    >>> model = pm.programs.FORMULATIONS["LP1"](pm.datasets.two_trees(), budget=1)
    >>> model.first_tree = pyo.Constraint(expr=model.kept[0] + model.kept[2] == 2)
    >>> try:
    ...     pm.programs.solve_model(model)
    ... except pm.errors.InfeasibleModelError as error:
    ...     print(error)
    ...
    the model LP1 has no feasible point: budget and first_tree contradict each other; deactivate one of them or let it allow more
    """


class MissingPackageError(PruneModelsError, ImportError):
    """A package that only some uses need is not installed; the message names the extra that brings it.

    Examples
    --------
    >>> import prunemodels as pm
    >>> issubclass(pm.errors.MissingPackageError, ImportError)
    True
    """


class BrokenFileError(PruneModelsError, OSError):
    """A file cannot be read, or does not hold what it should.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import prunemodels as pm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "forest.skops")
    ...     _ = file.write_text("not a forest")
    ...     try:
    ...         pm.load_forest(file)
    ...     except pm.errors.BrokenFileError as error:
    ...         print(type(error).__name__)
    ...
    BrokenFileError
    """


class UnspentBudgetWarning(UserWarning):
    """The answer is within the budget, but spends less than half of it, where a better answer may lie in between.

    Examples
    --------
    >>> import warnings
    >>> from prunemodels.example import path
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always")
    ...     pruning = path.at_cost(5)
    ...
    >>> heard[0].category.__name__, pruning.cost
    ('UnspentBudgetWarning', 0.0)
    """


class InterruptedSolveError(PruneModelsError, KeyboardInterrupt):
    """The user stopped a long computation (Ctrl-C); nothing was changed or written.

    Examples
    --------
    >>> import prunemodels as pm
    >>> issubclass(pm.errors.InterruptedSolveError, KeyboardInterrupt)  # so Ctrl-C still ends a program
    True
    """
