"""Rows of which some features were bought before, as active feature acquisition gives them: a table and a mask."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from formulations.errors import InvalidInputError
from prunemodels.on_demand.walk import Walk

if TYPE_CHECKING:
    from prunemodels.on_demand.predictor import OnDemandPredictor


def partly_known(predictor: OnDemandPredictor, X: Any, known: Any, asked: Any = None) -> Walk:
    """A walk whose rows have bought the known features, and have paid what these need.

    Parameters
    ----------
    X, known
        see `OnDemandPredictor.next_features`.
    asked
        bool, shape (n, n_features): what was asked for; of that, what is not known cannot be had. None: what is known.

    Raises
    ------
    InvalidInputError
        for other shapes, and values that are not finite numbers or NaN.
    """
    names = predictor._plan.everything
    mask, by_name = np.asarray(known), hasattr(X, "columns")
    if mask.dtype != bool or mask.shape != (len(X), len(names)) or (not by_name and np.shape(X) != mask.shape):
        raise InvalidInputError(
            f"known is {mask.dtype} of shape {mask.shape}, X has shape {np.shape(X)}; give both shape (n, {len(names)}), "
            "and bool for known"
        )
    table = {str(name): X[name] for name in X.columns} if by_name else dict(zip(names, np.asarray(X).T, strict=True))
    given = {}
    for name in predictor.features:
        if name not in table:
            raise InvalidInputError(f"X has no column {name!r}; give a table with the columns of the model")
        given[name] = np.ma.array(np.asarray(table[name]), mask=~mask[:, names.index(name)])
    walk = predictor.start(len(mask), known=given)
    lost = np.zeros_like(mask) if asked is None else np.asarray(asked, dtype=bool) & ~mask
    walk._bought_before(lost[:, predictor._plan.features])
    return walk
