"""Features that a pruned forest uses, as variables of a model, for rows that a user writes.

    y_h <= feature_used_k          for every split h on feature k, whether an example of the cost sample reaches it or not    (1)

Purchases w say what examples of the cost sample pay. A split that none of them reaches is free and stays, so rows over w do not
keep a feature out of the forest. Rows over `feature_used` do.
"""

from __future__ import annotations

from typing import Any

import pyomo.environ as pyo

from formulations.arguments import checked


@checked
def feature_used(model: pyo.ConcreteModel) -> Any:
    """The variables (1) of a model, by the features' names; made and added to it at the first call.

    Parameters
    ----------
    model
        one of `formulations.models.FORMULATIONS`.

    Returns
    -------
    pyomo.environ.Var
        0 or 1, ``model.feature_used[name]``; between them where the model is a relaxation. Nothing makes a variable smaller than
        it must be but a row or an objective.

    Examples
    --------
    >>> import pyomo.environ as pyo
    >>> import prunemodels as pm
    >>> from formulations.instance.papers import two_trees
    >>> model = pm.programs.FORMULATIONS["IP3"](two_trees(), lam=0)
    >>> used = pm.programs.feature_used(model)
    >>> model.one_feature = pyo.Constraint(expr=pyo.quicksum(used.values()) <= 1)
    >>> _ = pm.programs.solve_model(model)
    >>> pm.programs.read_pruning(model).n_splits
    1
    """
    m: Any = model
    if not hasattr(m, "feature_used"):
        ensemble = m.problem.ensemble
        names = list(ensemble.names)
        relaxed = not any(v.is_integer() for v in m.component_data_objects(pyo.Var))
        domain = pyo.NonNegativeReals if relaxed else pyo.Binary
        m.feature_used = pyo.Var(names, domain=domain, bounds=(0, 1), doc="whether the pruned forest asks for a feature")

        @m.Constraint(list(m.kept), doc="(1)")
        def asks(m: Any, h: int) -> Any:
            return m.kept[h] <= m.feature_used[names[int(ensemble.feature[h])]]

    return m.feature_used
