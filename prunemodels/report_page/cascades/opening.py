"""The top of a cascade's page: what exits save, the change of the error, and which examples stop where."""

from __future__ import annotations

from prunemodels.evaluation.wording import amount, count, error, share
from prunemodels.report_page.cascades.facts import CascadeFacts, OnRows
from prunemodels.report_page.markup import Html, join, name, tag
from prunemodels.report_page.opening import PERCENT, certainty, comparison, cost_and_error, on_budget, rounded_error, stat

NAMED_STAGES = 4
"""The number of stages that the sentence on who stops where names, if there are more."""


def cascade_opening(facts: CascadeFacts) -> Html:
    """Title, headline and figures."""
    h1 = tag("h1", name(facts.labels.title))
    return join(h1, *(_of_fitting(facts) if facts.on_rows is None else _on_rows(facts, facts.on_rows)))


def _on_rows(facts: CascadeFacts, seen: OnRows) -> list[Html]:
    h = seen.change
    numbers = [
        *cost_and_error(h, facts.task, facts.labels.unit),
        stat(
            "Stages per prediction",
            f"{facts.n_stages}",
            amount(sum(s.reach for s in seen.stages)),
            f"{share(seen.stages[0].stop)} stop at the first",
        ),
    ]
    if facts.purchases is not None:
        priced = sum(not item.once for p in facts.purchases for item in p.items)
        each = seen.stops.bought[~seen.stops.items.paid_once]
        bought = float((each @ seen.stops.evaluation.share).sum())
        numbers.append(stat("Items bought per prediction", None, amount(bought), f"of {priced:,} with a price"))
    return [
        join(on_budget(facts.budget, h, facts.labels.unit)),
        _lede(f"On {h.n:,} held-out examples ", facts),
        tag("p", who_stops(seen)),
        tag("dl", *numbers, class_="stats"),
        certainty(h, "The cascade and its last stage"),
    ]


def _of_fitting(facts: CascadeFacts) -> list[Html]:
    """The figures that are known from fitting, without further rows."""
    path, task, cascade = facts.path, facts.task, facts.cascade
    before_cost, before_error = facts.before
    unit = facts.labels.unit or "in the unit of the prices"
    own = f"error {error(cascade.error_, task)}"
    numbers = [
        stat(f"Cost per prediction, {unit}", amount(before_cost), amount(cascade.held_out_cost_), "cross-fitted"),
        stat(
            "Predictions that are wrong" if task == "classification" else "Mean squared error",
            rounded_error(before_error, task, path.n).removesuffix(PERCENT),
            rounded_error(cascade.held_out_error_, task, path.n),
            "cross-fitted",
        ),
        stat(f"Cost where it was learned, {unit}", None, amount(cascade.cost_), f"{own} there; both are too good"),
        stat("Examples it was learned from", None, f"{path.n:,}", f"{count(len(path), 'policy', 'policies')} on the path"),
    ]
    text = (
        "No held-out examples were given, so these figures come from fitting. They are cross-fitted: policies are learned from "
        f"one part of the {path.n:,} examples and judged on the others. The last stage for everybody is judged on the same "
        "examples. Which examples stop where can only be shown with held-out examples."
    )
    return [
        _lede(f"Cross-fitted on {path.n:,} examples ", facts),
        tag("p", text),
        tag("dl", *numbers, class_="stats"),
    ]


def _lede(begin: str, facts: CascadeFacts) -> Html:
    (c0, e0), (c1, e1) = facts.before, facts.tradeoff.chosen
    compared = comparison((c0, c1), (e0, e1), facts.task, facts.labels.unit)
    if facts.n_stages == 1:
        return tag("p", begin, compared, ": there is one stage, and no exit.", class_="lede")
    return tag("p", begin, compared, f", compared with sending everybody to the last of {facts.n_stages} stages.", class_="lede")


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
