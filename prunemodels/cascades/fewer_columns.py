"""A cascade at its policy that is given only the columns that some row can still buy.

Let C be the columns of the stages up to the last one that the policy lets a row reach. Of each chain the stages remain up to the
first one that reads a column outside of C; nothing can be bought beyond. The columns are numbered anew, and the models stay
as they are. Purchases are nested, so policies that stop there stay policies, with the same levels; which of them are optimal is
computed again for the stages that remain.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from functools import singledispatch
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from formulations.errors import UnsupportedModelError
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from prunemodels.cascades.exit_path import ExitPath
from prunemodels.cascades.learning import CrossFitted, ExitSample, LearnedExits, exit_problem
from prunemodels.models.trees import pruned_nodes
from prunemodels.models.unused_columns import restored_columns
from prunemodels.stages.policy import ExitPolicy, levels
from prunemodels.stages.set_stages import SetStages
from prunemodels.stages.stacking import Stack
from prunemodels.stages.stages import PricedStages, priced_stages
from prunemodels.stages.tree_stages import TreeStages
from solvers.path.closure_path import closure_path

if TYPE_CHECKING:
    from prunemodels.models.columns import TracedColumns

Columns = NDArray[np.int64]


def without_unused(cascade: Any) -> Any:
    """The fitted cascade with the columns C."""
    own, last = priced_stages(cascade.stages_), cascade.policy_.last_stage
    columns = np.array(sorted(_columns_up_to(own, last + 1)) or [0], dtype=np.int64)
    found, paths = copy(cascade), []
    for path in cascade.exit_paths_:
        count = _stages_within(priced_stages(path.stages), set(columns.tolist()))
        paths += [_first_stages(path, count, columns)] if count else []
        if path is cascade.exit_path_:
            found.exit_path_ = paths[-1]
    found.exit_paths_ = tuple(paths)
    stages = found.exit_path_.stages
    found.stages_, found.policy_ = stages, _policy(cascade.policy_, stages.n_stages)
    same = [k for k in range(len(found.exit_path_)) if cascade.row_ is not None and _go_alike(found, k)]
    found.row_ = same[0] if same else None
    if cascade.column_types_ is not None:
        found.column_types_ = [cascade.column_types_[f] for f in columns]
    if hasattr(cascade, "feature_names_in_"):
        found.feature_names_in_ = cascade.feature_names_in_[columns]
    found.n_features_in_ = int(columns.size)
    return found.set_params(stages=stages) if getattr(cascade, "stages", None) is cascade.stages_ else found


def _go_alike(cascade: Any, k: int) -> bool:
    return cascade.policy_.cut is None and np.array_equal(cascade.exit_path_.policy(k).go, cascade.policy_.go)


def _columns_up_to(stages: PricedStages, count: int) -> set[int]:
    """The columns that the first stages read."""
    return {column for s in range(count) for f in stages.features[s].tolist() for column in stages.sources[f]}


def _stages_within(stages: PricedStages, columns: set[int]) -> int:
    """The number of stages before the first one that reads another column."""
    return next((s for s in range(stages.n_stages) if not _columns_up_to(stages, s + 1) <= columns), stages.n_stages)


@singledispatch
def _some_stages(stages: Any, count: int, columns: Columns) -> Any:
    raise UnsupportedModelError(f"stages are {type(stages).__name__}, whose columns cannot be dropped")


@_some_stages.register
def _(stages: SetStages, count: int, columns: Columns) -> SetStages:
    features = tuple(np.searchsorted(columns, some) for some in stages.features[:count])
    return replace(stages, models=stages.models[:count], features=features, items=stages.items.of_features(columns.tolist()))


@_some_stages.register
def _(stages: TreeStages, count: int, columns: Columns) -> TreeStages:
    kept = stages.ensemble.is_split & (stages.first_stage < count)
    trees, nodes = pruned_nodes(stages.ensemble, kept, stages.ensemble.n_trees)
    first = np.where(kept[nodes], stages.first_stage[nodes], count).astype(np.int32)
    if trees.made is not None:
        made = restored_columns(cast("TracedColumns", trees.made), columns.tolist())
        return TreeStages(replace(trees, made=made), _of_made(stages.items, trees, columns), stages.evaluation, first, count)
    evaluation = [stages.evaluation[f] for f in columns]
    place = np.full(trees.n_features + 1, -1, dtype=np.int32)  # the last place is for the -1 of leaves
    place[columns] = np.arange(columns.size)
    names = None if trees.feature_names is None else tuple(trees.feature_names[f] for f in columns)
    narrow = replace(trees, feature=place[trees.feature], n_features=int(columns.size), feature_names=names)
    return TreeStages(narrow, stages.items.of_features(columns.tolist()), tuple(evaluation), first, count)


def _of_made(items: CostItems, trees: Ensemble, columns: Columns) -> CostItems:
    """The prices of features that are made from some raw columns; features that no split tests need nothing."""
    assert items.columns is not None
    tested = set(trees.feature[trees.is_split].tolist())
    needs = tuple(needed if f in tested else () for f, needed in enumerate(items.needs))
    fewer = replace(items, needs=needs, columns=None).of_features(range(len(needs)))
    return replace(fewer, columns=replace(items, needs=items.columns, columns=None).of_features(columns.tolist()).needs)


def _first_stages(path: ExitPath, count: int, columns: Columns) -> ExitPath:
    """The path of the first stages, with the optima among the policies that stop there."""
    everyone, sample = np.arange(path.n), _sample(path.sample, count)
    folds = tuple(
        (held_out, _learned(fold, sample.take(np.setdiff1d(everyone, held_out)))) for held_out, fold in path.cross_fitted.folds
    )
    learned = _learned(path.learned, sample, certificate=True)
    return ExitPath(_some_stages(path.stages, count, columns), learned, sample, CrossFitted(sample, folds, path.cross_fitted.lam))


def _sample(sample: ExitSample, count: int) -> ExitSample:
    cost, loss, judged = (array[:count] for array in (sample.cost, sample.loss, sample.judged))
    return replace(sample, doubt=sample.doubt[: count - 1], cost=cost, once=sample.once[:count], loss=loss, judged=judged)


def _stack(stack: Stack | None, count: int) -> Stack | None:
    return stack and Stack(stack.weight[:count, :count], stack.base[:count], stack.stacked[:count])


def _learned(learned: LearnedExits, sample: ExitSample, *, certificate: bool = False) -> LearnedExits:
    """The optima at the stages of a sample, with the same levels."""
    theta = learned.theta[: sample.n_stages - 1]
    problem = exit_problem(sample, levels(sample.doubt, theta), theta.shape[1])
    path = closure_path(problem, certificate=certificate)
    return LearnedExits(learned.doubt, theta, path, _stack(learned.stack, sample.n_stages), learned.by)


def _policy(policy: ExitPolicy, count: int) -> ExitPolicy:
    cut = policy.cut and (replace(policy.cut, more=policy.cut.more[: count - 1]) if policy.cut.stage < count - 1 else None)
    return replace(policy, theta=policy.theta[: count - 1], go=policy.go[: count - 1], stack=_stack(policy.stack, count), cut=cut)
