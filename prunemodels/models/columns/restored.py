"""Raw columns that a pipeline was fitted on and that its model no longer uses: a value that the steps accept stands for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from formulations.errors import InvalidInputError


class RestoredColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The first step of a pipeline without its unused columns: it puts a constant in the place of each.

    The next step was fitted on the columns `names`, of which those in the places `kept`, ascending, remain; `values` stand for
    the others. Only if they are `named` do tables have these names; else rows are arrays.
    """

    def __init__(self, names: Sequence[str], values: Sequence[Any], kept: Sequence[int], *, named: bool) -> None:
        self.names = names
        self.values = values
        self.kept = kept
        self.named = named

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def n_features_in_(self) -> int:
        """Number of the columns that remain."""
        return len(self.kept)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """The names of the columns that remain."""
        if not self.named:
            raise AttributeError("feature_names_in_")
        return np.array([self.names[f] for f in self.kept], dtype=object)

    @property
    def made_from_(self) -> list[list[int]]:
        """What each column is made from, see `prunemodels.models.columns.parts`."""
        place = {f: k for k, f in enumerate(self.kept)}
        return [[place[f]] if f in place else [] for f in range(len(self.names))]

    def fit(self, X: Any = None, y: Any = None) -> RestoredColumns:
        """Learn nothing."""
        return self

    def transform(self, X: Any) -> Any:
        """All columns: those of X, which may have others beside those that remain, and the constants."""
        if not self.named:
            return self._array(X)
        table = X if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X), columns=list(self.feature_names_in_))
        missing = [name for name in self.feature_names_in_ if name not in table.columns]
        if missing:
            raise InvalidInputError(
                f"X lacks the column {missing[0]!r} ({len(missing)} missing); the model reads {self._shown()}"
            )
        kept = set(self.kept)
        columns = [
            table[name] if f in kept else pd.Series([self.values[f]] * len(table), index=table.index)
            for f, name in enumerate(self.names)
        ]
        return pd.concat(columns, axis=1, keys=list(self.names))

    def _array(self, X: Any) -> NDArray[Any]:
        rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
        if rows.ndim != 2 or rows.shape[1] != len(self.kept):
            raise InvalidInputError(f"X has shape {rows.shape}; the model reads {len(self.kept)} columns: {self._shown()}")
        constants = np.array(list(self.values))
        kind = rows.dtype if constants.dtype.kind in "biuf" and rows.dtype.kind == "f" else object
        restored = np.empty((len(rows), len(self.names)), dtype=kind)
        restored[:] = constants if kind is not object else np.array(list(self.values), dtype=object)
        restored[:, list(self.kept)] = rows
        return restored

    def _shown(self) -> str:
        return ", ".join([str(self.names[f]) for f in self.kept][:6]) + (", ..." if len(self.kept) > 6 else "")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """The names of all columns."""
        return np.array(list(self.names), dtype=object)
