"""What a model or a cascade answers for rows without labels: the answer, its probabilities, what each row buys and pays.

All figures are those of the model's own ``predict`` and ``predict_proba``, of a cascade's ``prediction_cost`` and
``stop_stages``, and of (1) in `prunemodels.models.costs`. A cascade buys by stages; trees ask in their order, from the root down.

Models take what they do not know for something else without a word: a new level has the place of the rare ones, and "YES" is not
"yes". So whoever has new rows asks first what
training knew of each column: its words, or that it held numbers or dates.
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

from formulations.instance.routing import leaves_of
from formulations.shown import same_but_case
from prunemodels.cascades.cascade import Cascade
from prunemodels.evaluation.evaluate import item_label
from prunemodels.models.costs import Costs
from prunemodels.models.tree_model import TreeModel
from prunemodels.models.unused_columns import RestoredColumns
from prunemodels.stages.policy import decide
from prunemodels.stages.raw_tables import reads_raw_columns
from prunemodels.stages.stages import PricedStages
from prunemodels.stages.table_preparation import TableColumns, level_words
from prunemodels.written_numbers import without_missing_words


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers for N rows."""

    said: NDArray[Any]  # shape (N,): labels or numbers
    classes: NDArray[Any] | None  # the K labels; None for numbers
    probability: NDArray[np.float64] | None  # shape (N, K); None for numbers
    # what each row pays, shape (N,), without what is paid once for all rows; None where there are no prices
    cost: NDArray[np.float64] | None
    once: float  # the price of the items that are paid once for all rows
    stage: NDArray[np.int64] | None  # shape (N,): the stage at which a cascade stops; None for other models
    items: tuple[str, ...]  # the M items in words
    price: NDArray[np.float64]  # shape (M,); NaN without prices
    first: NDArray[np.int64]  # shape (M, N): when a row buys an item, by stage or in the order of the splits; -1: it does not

    @property
    def in_order(self) -> list[str]:
        """What each row buys, in order: of a cascade stage by stage."""
        patterns, place = np.unique(self.first, axis=1, return_inverse=True)
        texts = [self._listed(patterns[:, p]) for p in range(patterns.shape[1])]
        return [texts[p] for p in np.ravel(place).tolist()]

    def _listed(self, first: NDArray[np.int64]) -> str:
        """One row's items."""
        order = [m for m in np.argsort(first, kind="stable").tolist() if first[m] >= 0]
        if self.stage is None:
            return ", ".join(self.items[m] for m in order)
        groups: dict[int, list[str]] = {}
        for m in order:
            groups.setdefault(int(first[m]), []).append(self.items[m])
        return "; ".join(f"stage {s}: {', '.join(names)}" for s, names in groups.items())

    def to_frame(self) -> pd.DataFrame:
        """A row for each answer."""
        columns: dict[str, Any] = {"answer": self.said}
        if self.classes is not None and self.probability is not None:
            columns |= {f"probability of {label}": self.probability[:, k] for k, label in enumerate(self.classes.tolist())}
        columns |= {} if self.cost is None else {"cost": self.cost}
        columns |= {"bought": self.in_order} if self.items else {}
        columns |= {} if self.stage is None else {"stage": self.stage}
        return pd.DataFrame(columns)


def answers_of(model: TreeModel | Cascade, X: Any, costs: Costs | None = None, evaluation_cost: Any = 0) -> Answers:
    """The answers for the rows of X; a cascade has its own prices, and a pruned model holds those that it was pruned with."""
    return _of_cascade(model, X) if isinstance(model, Cascade) else _of_trees(model, X, costs, evaluation_cost)


def _of_cascade(cascade: Any, X: Any) -> Answers:
    rows, stages = cascade._rows(X), cascade.stages_
    decision = decide(cascade.policy_, stages, rows)
    classes, stage = stages.classes, decision.stage
    probability = None if classes is None else decision.value
    once = float(stages.once[cascade.policy_.last_stage])
    common = (cascade._said(decision.value), classes, probability, cascade._paid(rows, stage), once, stage)
    if not isinstance(stages, PricedStages):
        return Answers(*common, (), np.zeros(0), np.zeros((0, len(stage)), dtype=np.int64))
    priced = np.flatnonzero(stages.items.price > 0)
    first = stages.first_bought(rows)[priced]
    names = tuple(item_label(stages.items.names[m]) for m in priced.tolist())
    return Answers(*common, names, stages.items.price[priced], np.where(first <= stage, first, -1))


def _of_trees(model: TreeModel, X: Any, costs: Costs | None, evaluation_cost: Any) -> Answers:
    costs, evaluation_cost = model.priced(costs, evaluation_cost)
    usage, e = model.usage(X, 1 if costs is None else costs, evaluation_cost=evaluation_cost), model.ensemble
    items, is_split = usage.costs, e.is_split
    rank = e.tree_of.astype(np.int64) * (int(e.depth.max()) + 1) + e.depth
    ranks, place = np.unique(rank[is_split], return_inverse=True)
    none = len(ranks)
    step = np.full(e.n_nodes, none, dtype=np.int32)
    step[is_split] = np.ravel(place)
    first = np.minimum(usage.first_stage_by_row(step, none), usage.first_stage_once(step, none)[:, None])
    priced = np.flatnonzero(items.price > 0)
    first = np.where(first < none, first, -1)[priced]
    names = tuple(item_label(items.names[m]) for m in priced.tolist())
    cost = None if costs is None else usage.row_costs(is_split)
    price = np.full(len(names), np.nan) if costs is None else items.price[priced]
    once = usage.once_cost(is_split)
    return Answers(model.predict(X), model.classes, _probability(model, X), cost, once, None, names, price, first)


def _probability(model: TreeModel, X: Any) -> NDArray[np.float64] | None:
    """Of each class, as the model's own ``predict_proba`` gives them."""
    if model.classes is None:
        return None
    if model.forest is None or model.decision is not None:
        return np.asarray(model.model.predict_proba(X))
    found = model.response.probabilities(model.response.sums(leaves_of(model.ensemble, model._features(X)).T))
    return None if found is None else np.asarray(found)


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
