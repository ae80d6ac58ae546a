"""The table of stages: what each buys, which share of the rows reach it and stop there, and the cost so far."""

from __future__ import annotations

from collections.abc import Sequence

from prunemodels.evaluation.wording import amount, count, error, share
from prunemodels.report_page.cascades.facts import CascadeFacts
from prunemodels.report_page.cascades.purchases import Purchase
from prunemodels.report_page.document import Section
from prunemodels.report_page.markup import Html, join, name, table, tag

NAMED = 6
"""The largest number of items or features that a cell names."""

NONE = "\u2013"
"""The mean over the rows of a stage that no row reaches."""


def stage_table(facts: CascadeFacts) -> Section:
    """The section with all stages; those that the policy never reaches are folded away."""
    last = facts.cascade.policy_.last_stage
    rows = [_row(facts, s) for s in range(facts.n_stages)]
    parts = [tag("p", _in_words(facts, last)), table(_caption(facts), _header(facts), rows[: last + 1], id_="stages-table")]
    if rest := rows[last + 1 :]:
        more = table(f"{_caption(facts)} No row reaches these.", _header(facts), rest, id_="more-stages")
        parts.append(tag("details", tag("summary", f"{count(len(rest), 'more stage')}, which the policy never asks"), more))
    return "stages", "The stages", join(*parts)


def _header(facts: CascadeFacts) -> list[object]:
    if facts.on_rows is None:
        return ["stage, and what it buys", "price", "cost, all stop here", "error, all stop here", "mean cost so far"]
    return ["stage, and what it buys", "price", "reach it", "stop here", "error of those", "mean cost so far"]


def _caption(facts: CascadeFacts) -> str:
    unit = f" Prices are in {facts.labels.unit}." if facts.labels.unit else ""
    if facts.on_rows is None:
        return (
            "The price is what a row pays more than at the stage before, on average over the rows that the policy was learned "
            f"from; the last column is the policy\u2019s mean cost on these rows, up to each stage.{unit}"
        )
    return (
        "The price is what a row that reaches a stage pays more than before, on average; shares are of all held-out examples; "
        f"the last number of the last column is the mean cost of a prediction.{unit}"
    )


def _in_words(facts: CascadeFacts, last: int) -> str:
    reached = "stage 0 alone" if last == 0 else f"stages 0 to {last}"
    n = facts.n_stages
    total = "these are all stages" if last + 1 == n else f"there are {n}"
    text = f"The chosen policy may ask {reached}; {total}. "
    if facts.purchases is None:
        return text + "The stages do not say what they read, so what they buy is not listed."
    if facts.purchases[0].splits is not None:
        return text + (
            "The stages walk the same trees ever deeper, or ever more of them: a row pays for what it meets on its way, so not "
            "every row pays for all that a stage allows."
        )
    model = _only_model(facts.purchases) or "model"
    return f"{text}Each stage has a {model} of its own, on all features that were bought by then."


def _only_model(new: tuple[Purchase, ...]) -> str | None:
    """The kind of all models; None if they differ in kind."""
    kinds = {p.model[0] for p in new if p.model is not None and p.model[0]}
    return kinds.pop() if len(kinds) == 1 else None


def _row(facts: CascadeFacts, s: int) -> list[object]:
    label = join(f"stage {s}", None if facts.purchases is None else _bought(facts.purchases, s))
    if facts.on_rows is not None:
        f = facts.on_rows.stages[s]
        wrong = NONE if f.error is None else error(f.error, facts.task)
        paid = _price(facts, s, f.paid)
        return [label, paid, share(f.reach), f"{f.rows:,} ({share(f.stop)})", wrong, amount(f.cost_so_far)]
    path = facts.path
    cost, so_far = path.single_cost, facts.evidence.cost_by_stage
    once = facts.cascade.stages_.once
    increase = float(cost[s] - once[s] - (cost[s - 1] - once[s - 1] if s else 0.0))
    wrong = error(float(path.single_error[s]), facts.task)
    return [label, _price(facts, s, increase), amount(float(cost[s])), wrong, amount(float(so_far[s]))]


def _price(facts: CascadeFacts, s: int, paid: float | None) -> str:
    """What a row pays at a stage, and what is paid once for all.

    Where no row reaches a stage with a model of its own, the price of its items is shown.
    """
    if paid is None and facts.purchases is not None and facts.purchases[s].splits is None:
        paid = facts.purchases[s].price
    once = facts.cascade.stages_.once
    for_all = float(once[s] - (once[s - 1] if s else 0.0))
    each = NONE if paid is None else amount(round(paid, 12))
    return f"{each}, and {amount(for_all)} once for all" if for_all > 0 else each


def _bought(all_new: tuple[Purchase, ...], s: int) -> Html:
    """The names of what is new at a stage, and the model that reads it."""
    new = all_new[s]
    nothing = "nothing new to pay" if new.splits is None else "no new item" if s else "no item"
    items = join(": ", _names([item.name for item in new.items]) if new.items else nothing)
    features = [f for f in new.features if f not in {item.name for item in new.items}]
    details: list[Html | str] = []
    if new.splits is not None:
        trees = f" in {count(new.trees or 0, 'new tree')}" if new.trees and s else ""
        details.append(count(new.splits, "new split" if s else "split") + trees)
    elif new.model == ("", 0):
        details.append("one answer for all")
    elif new.model is not None:
        kind = "reads" if _only_model(all_new) else f"{new.model[0]} reads"
        details.append(f"{kind} {count(new.model[1], 'feature')}")
    if features:
        details.append(join("new: " if new.items else "free: ", _names(features)))
    return join(items, tag("span", *_between("; ", details), class_="users") if details else None)


def _between(separator: str, parts: Sequence[Html | str]) -> list[Html | str]:
    """Parts with a separator between them."""
    return [piece for k, part in enumerate(parts) for piece in ((separator, part) if k else (part,))]


def _names(names: list[str]) -> Html:
    """The first few names, and how many more there are."""
    few = names if len(names) <= NAMED + 1 else names[:NAMED]
    more = f" and {len(names) - len(few):,} more" if len(few) < len(names) else None
    return join(*_between(", ", [name(text) for text in few]), more)
