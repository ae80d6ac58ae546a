"""What training knew of each column of a table: its words, or that it held numbers or dates; and cells that it did not know.

Models take what they do not know for something else without a word: a new level has the place of the rare ones, and "YES" is not
"yes". So whoever has new rows asks first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from formulations.shown import same_but_case
from prunemodels.cascades.cascade import Cascade
from prunemodels.models.tree_model import TreeModel
from prunemodels.models.unused_columns import RestoredColumns
from prunemodels.stages.raw_tables import reads_raw_columns
from prunemodels.stages.table_preparation import TableColumns, level_words
from prunemodels.written_numbers import without_missing_words


@dataclass(frozen=True)
class Known:
    """What a column held in training."""

    kind: str  # "number", "date" or "category"
    words: frozenset[str] | None = None  # the words of a category; None: any word is taken

    def unknown(self, column: pd.Series[Any]) -> NDArray[np.bool_]:
        """The cells that hold what training did not know, shape (N,); empty cells are none of them."""
        if self.kind == "category":
            known = self.words
            words = level_words(column)
            return np.array([known is not None and word is not None and word not in known for word in words], dtype=bool)
        if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(column.dtype):
            return np.zeros(len(column), dtype=bool)
        cells = without_missing_words(column)
        if self.kind == "date":
            read: Any = pd.to_datetime(cells, utc=True, format="ISO8601", errors="coerce")
        else:
            read = pd.to_numeric(cells, errors="coerce")
        return np.asarray(read.isna() & cells.notna())

    def meant(self, word: str) -> str | None:
        """The word of training that differs from this one in case and blanks alone; None without one."""
        return next((known for known in sorted(self.words or ()) if same_but_case(known) == same_but_case(word)), None)


NUMBER, ANYTHING = Known("number"), Known("category")


def known_values(model: TreeModel | Cascade, names: Sequence[str]) -> dict[str, Known]:
    """What training knew of the named columns of the model's table, by name."""
    if isinstance(model, Cascade):
        if not reads_raw_columns(model):
            return dict.fromkeys(names, NUMBER)
        readers = list(_readers(model.stages_))
    elif model.forest is not None and model.ensemble.made is None:
        codes = model.forest.codes if model.reads_words else None
        lists = {} if codes is None or codes.categories is None else dict(codes.placed())
        texts = {f: frozenset(level_words(pd.Series(list(found), dtype=object))) for f, found in lists.items()}
        unsure = ANYTHING if codes is not None and codes.categories is None else NUMBER
        return {name: Known("category", texts[f]) if f in texts else unsure for f, name in enumerate(names)}
    elif model.reads_words:
        readers = list(_readers(model.ensemble.made))
    else:
        return dict.fromkeys(names, NUMBER)
    found = dict[str, Known]()
    for name, known in readers:
        found[name] = known if name not in found else _both(found[name], known)
    return {name: found.get(name, ANYTHING) for name in names}


def _both(one: Known, other: Known) -> Known:
    """What either of two readers of a column knows."""
    if one.words is None or other.words is None:
        return one if one.kind == other.kind else ANYTHING
    return Known("category", one.words | other.words)


def _readers(part: Any) -> Iterator[tuple[str, Known]]:
    """What the steps that read a table's own columns know of these, by the columns' names."""
    if isinstance(part, TableColumns):
        for f, name in enumerate(getattr(part, "feature_names_in_", ())):
            others = getattr(part, "rare_words_", [None if rare else [] for rare in part.rare_])[f]
            words = None if others is None else frozenset((*part.levels_[f], *others))
            yield str(name), Known("category", words) if part.kinds_[f] == "category" else _of_kind(part.kinds_[f])
    elif isinstance(part, ColumnTransformer):
        for _, inner, _ in part.transformers_:
            yield from _readers(inner)
    elif hasattr(part, "categories_"):
        for name, levels in zip(getattr(part, "feature_names_in_", ()), part.categories_, strict=False):
            yield str(name), Known("category", frozenset(level_words(pd.Series(list(levels), dtype=object))) - {None})
    elif isinstance(part, Pipeline) or hasattr(part, "steps"):
        for _, step in part.steps:
            yield from _readers(step)
            if not isinstance(step, RestoredColumns) and step not in (None, "passthrough"):
                break
    else:  # stages, which hold models for the same table, or prunings of one forest
        for inner in (*(getattr(part, "models", None) or ()), getattr(getattr(part, "ensemble", None), "made", None)):
            if inner is not None:
                yield from _readers(inner)


def _of_kind(kind: str) -> Known:
    """A column of numbers or dates; one that was empty in training has any value."""
    return ANYTHING if kind == "empty" else Known(kind)
