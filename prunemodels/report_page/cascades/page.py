"""The page on a cascade: which examples stop where, what they have bought by then, and what is proven about the policy."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

import numpy as np

from formulations.extras import package
from prunemodels.exits.doubt import MarginDoubt
from prunemodels.exits.set_stages import SetStages
from prunemodels.exits.tree_stages import TreeStages
from prunemodels.report_page.cascades.facts import CascadeFacts, OnRows
from prunemodels.report_page.facts import spread
from prunemodels.report_page.rendering import BY_CLASS, render_page
from prunemodels.statements.wording import amount, change, count, error, exactly, share

NAMED_STAGES = 4
"""The number of stages that the sentence on who stops where names, if there are more."""

NONE = "\u2013"
"""The mean over the rows of a stage that no row reaches."""

CONTENTS = {
    "detection": "Missed and false alarms",
    "payers": "Who pays what",
    "stages": "The stages",
    "tradeoff": "The trade-off",
    "stops": "Who stops where",
    "appendix": "Appendix: the mathematics, in plain words",
    "proof": "What is proven",
    "data": "Data and versions",
}


def render_cascade(facts: CascadeFacts) -> str:
    """The page that shows the facts on a cascade."""
    pictures = package("prunemodels.report_page.pictures")
    path, policy, seen = facts.path, facts.cascade.policy_, facts.on_rows
    doubt = "margin of the two largest probabilities" if isinstance(policy.doubt, MarginDoubt) else "learned"
    data = [
        ("cascade", f"{type(facts.cascade).__name__}, {facts.task}"),
        ("stages", _stages(facts)),
        ("learned from", count(path.n, "example")),
        ("doubt", f"{doubt}, in {count(policy.theta.shape[1], 'level')}"),
        ("path", f"{count(len(path), 'optimal policy', 'optimal policies')}"),
        ("held out", "no examples" if seen is None else count(seen.change.n, "example")),
    ]
    drawn = {"policies": pictures.policies(facts), "stops": [] if seen is None else pictures.stops(facts, seen)}
    kinds = {p.model[0] for p in facts.purchases or () if p.model is not None and p.model[0]}
    by_class = seen is not None and seen.classes is not None
    return render_page(
        "cascade",
        {k: heading for k, heading in CONTENTS.items() if (seen is not None or k != "stops") and (by_class or k not in BY_CLASS)},
        facts,
        data=data,
        pictures=drawn,
        shown=spread(facts.tradeoff.cost),
        who_stops="" if seen is None else who_stops(seen),
        n_priced=sum(not item.once for p in facts.purchases or () for item in p.items),
        only_model=kinds.pop() if len(kinds) == 1 else None,
        stage_rows=[_cells(facts, s) for s in range(facts.n_stages)],
        best_single=_best_single(facts),
        exact_or_float=lambda x: exactly(x) if isinstance(x, Fraction) else f"{x:.10g}",
        difference=difference,
    )


def who_stops(seen: OnRows) -> str:
    """A sentence on how many rows stop at which stage."""
    used = [(s, f) for s, f in enumerate(seen.stages) if f.rows]
    few = used if len(used) <= NAMED_STAGES + 1 else used[:NAMED_STAGES]
    parts = [f"{f.rows:,} ({share(f.stop, 0)}) {'stop ' if k == 0 else ''}at stage {s}" for k, (s, f) in enumerate(few)]
    rest = used[len(few) :]
    if rest:
        rows, rest_share = sum(f.rows for _, f in rest), sum(f.stop for _, f in rest)
        later = f"{count(len(rest), 'later stage')}, of which stage {rest[-1][0]} is the last"
        parts.append(f"the other {rows:,} ({share(rest_share, 0)}) at {later}")
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"Of {seen.change.n:,} examples, {listed}. The first stage is stage 0."


def _cells(facts: CascadeFacts, s: int) -> list[str]:
    """The row of a stage in the table of stages, after its name."""
    once = facts.cascade.stages_.once
    for_all = float(once[s] - (once[s - 1] if s else 0.0))
    if facts.on_rows is not None:
        f = facts.on_rows.stages[s]
        wrong = NONE if f.error is None else error(f.error, facts.task)
        return [_price(facts, s, f.paid, for_all), share(f.reach), f"{f.rows:,} ({share(f.stop)})", wrong, amount(f.cost_so_far)]
    cost, so_far = facts.path.single_cost, facts.evidence.cost_by_stage
    increase = float(cost[s] - (cost[s - 1] if s else 0.0)) - for_all
    wrong = error(float(facts.path.single_error[s]), facts.task)
    return [_price(facts, s, increase, for_all), amount(float(cost[s])), wrong, amount(float(so_far[s]))]


def _price(facts: CascadeFacts, s: int, paid: float | None, for_all: float) -> str:
    """What a row pays at a stage, and what is paid once for all; where no row reaches it, the price of its own model's items."""
    if paid is None and facts.purchases is not None and facts.purchases[s].splits is None:
        paid = facts.purchases[s].price
    each = NONE if paid is None else amount(round(paid, 12))
    return f"{each}, and {amount(for_all)} once for all" if for_all > 0 else each


def _best_single(facts: CascadeFacts) -> int | Literal["none"] | None:
    """The best single stage of no higher cost than the policy's; "none" if the policy is itself a single stage."""
    t, policy = facts.tradeoff, facts.cascade.policy_
    going = policy.go[:, 1:]
    if policy.cut is None and (going.all(axis=1) | ~going.any(axis=1)).all():
        return "none"
    within = np.flatnonzero(t.single_cost <= t.chosen[0] * (1 + 1e-9))
    return int(within[t.single_error[within].argmin()]) if within.size else None


def difference(seen: float, own: float, task: str) -> str:
    """The difference between two errors as text; differences by rounding are ignored."""
    return "the same" if abs(seen - own) <= 1e-9 * max(seen, own) else change(seen - own, task)


def _stages(facts: CascadeFacts) -> str:
    """A description of the stages."""
    stages = facts.cascade.stages_
    number, stack = count(facts.n_stages, "stage"), facts.cascade.policy_.stack
    stacking = (
        "" if stack is None or not stack.stacked.any() else f"; {int(stack.stacked.sum())} also weigh what earlier ones said"
    )
    if isinstance(stages, TreeStages):
        e = stages.ensemble
        return f"{number} of one model with {count(e.n_trees, 'tree')} on {count(e.n_features, 'feature')}{stacking}"
    if isinstance(stages, SetStages):
        return f"{number}, models of their own on {count(stages.items.n_features, 'feature')} at most{stacking}"
    return f"{number}, {type(stages).__name__}{stacking}"
