"""Held-out error against mean cost: all policies of the path, the chosen one, and single stages that answer every row."""

from __future__ import annotations

import numpy as np

from prunemodels.evaluation.wording import amount, count, error
from prunemodels.report_page.cascades.facts import CascadeFacts
from prunemodels.report_page.chart import Chart, left_end, legend, marker
from prunemodels.report_page.document import Section
from prunemodels.report_page.markup import Html, join, table, tag
from prunemodels.report_page.tradeoff_charts import LINE, MOST_DOTS, cost_label, error_ticks, measure, points_of, spread


def tradeoff_section(facts: CascadeFacts) -> Section:
    """The section on the trade-off: the chart, and its points as tables."""
    t, task, path = facts.tradeoff, facts.task, facts.path
    shown = spread(t.cost)
    half = [""] * len(path) if t.half is None else [f" \u00b1 {error(h, task)}" for h in t.half.tolist()]
    rows: list[list[object]] = [
        [
            f"{path.lam[k]:.4g}",
            amount(path.cost[k]),
            error(path.error[k], task),
            amount(t.cost[k]),
            f"{error(t.error[k], task)}{half[k]}",
        ]
        for k in shown
    ]
    where = "cross-fitted" if facts.on_rows is None else "held out"
    header: list[object] = ["lambda", "cost, learned from", "error, learned from", f"cost, {where}", f"error, {where}"]
    caption = f"{len(rows)} of {count(len(path), 'optimal policy', 'optimal policies')}; lambda is error per unit of cost"
    singles: list[list[object]] = [
        [f"stage {s}", amount(c), error(e, task)]
        for s, (c, e) in enumerate(zip(t.single_cost.tolist(), t.single_error.tolist(), strict=True))
    ]
    content = join(
        tag("p", _in_words(facts)),
        policy_chart(facts),
        tag(
            "details",
            tag("summary", "The points as tables"),
            table(caption, header, rows, id_="policies"),
            table("One stage for everybody, without exits", ["stage", "cost", "error"], singles, id_="singles"),
        ),
    )
    return "tradeoff", "The trade-off", content


def policy_chart(facts: CascadeFacts) -> Html:
    """The chart with its legend."""
    t, task = facts.tradeoff, facts.task
    half = np.zeros(len(t.error)) if t.half is None else t.half
    low, high = np.maximum(t.error - half, 0.0), t.error + half
    top = max(float(high.max()), float(t.single_error.max()), t.chosen[1])
    costs = [*t.cost.tolist(), *t.single_cost.tolist(), t.chosen[0]]
    chart = Chart(1.03 * max(costs), 1.05 * top, x_least=left_end(costs))
    where = "cross-fitted" if facts.on_rows is None else "held out"
    parts: list[object] = [chart.axes(cost_label(facts.labels.unit), f"{measure(task)}, {where}", error_ticks(task))]
    if t.half is not None:
        parts.append(chart.band(points_of(t.cost, low), points_of(t.cost, high)))
    parts.append(chart.line(points_of(t.cost, t.error), "line"))
    policies = zip(t.cost.tolist(), t.error.tolist(), strict=True) if len(t.cost) <= MOST_DOTS else ()
    parts += [marker("dot", chart.x(c), chart.y(e), _hint("a policy", c, e, task)) for c, e in policies]
    singles = list(zip(t.single_cost.tolist(), t.single_error.tolist(), strict=True))
    for s, (c, e) in enumerate(singles):
        kind = "unpruned" if s == len(singles) - 1 else "relaxed"
        parts.append(marker(kind, chart.x(c), chart.y(e), _hint(f"stage {s} for everybody", c, e, task)))
    if facts.on_rows is not None:
        ends = facts.on_rows.change.error_after
        x = f"{chart.x(t.chosen[0]):.1f}"
        parts.append(tag("line", x1=x, x2=x, y1=f"{chart.y(ends.low):.1f}", y2=f"{chart.y(ends.high):.1f}", class_="ink"))
    parts.append(marker("chosen", chart.x(t.chosen[0]), chart.y(t.chosen[1]), _hint("chosen", *t.chosen, task)))
    svg = chart.svg("Error against mean cost of all policies", _description(facts), *parts, id_="policy-chart")
    percent = None if facts.on_rows is None else f"{100 * facts.on_rows.change.confidence:g}\u00a0%"
    entries = [
        (
            join(LINE, marker("dot", 14, 8)),
            "optimal policies" + (f", with {percent} intervals point by point" if percent else ""),
        ),
        (marker("chosen", 14, 8), "the chosen policy"),
        (marker("unpruned", 14, 8), "the last stage for everybody"),
    ]
    if len(singles) > 1:
        entries.append((marker("relaxed", 14, 8), "another stage for everybody, without exits"))
    return tag("figure", svg, legend(entries), class_="beside")


def _in_words(facts: CascadeFacts) -> str:
    """A comparison of the policy with the best single stage of no higher cost."""
    t, task, policy = facts.tradeoff, facts.task, facts.cascade.policy_
    going = policy.go[:, 1:]
    if policy.cut is None and (going.all(axis=1) | ~going.any(axis=1)).all():
        return f"The chosen policy stops everybody at stage {policy.last_stage}: it is one model without exits."
    within = np.flatnonzero(t.single_cost <= t.chosen[0] * (1 + 1e-9))
    if not within.size:
        return "No single stage is as cheap as the chosen policy."
    s = int(within[t.single_error[within].argmin()])
    cost, err = float(t.single_cost[s]), float(t.single_error[s])
    return (
        f"Without exits, at no more than the policy\u2019s cost of {amount(t.chosen[0])}, the best single stage is stage {s}: it "
        f"costs {amount(cost)} and its {measure(task)} is {error(err, task)}; with exits it is {error(t.chosen[1], task)}."
    )


def _description(facts: CascadeFacts) -> str:
    t, task = facts.tradeoff, facts.task
    first, last = (f"cost {amount(t.cost[k])} and {measure(task)} {error(t.error[k], task)}" for k in (0, -1))
    cost, err = facts.before
    return (
        f"{count(len(t.cost), 'policy', 'policies')}, from {first} to {last}. {_hint('Chosen', *t.chosen, task)}. "
        f"{_hint('The last stage for everybody', cost, err, task)}."
    )


def _hint(what: str, cost: float, err: float, task: str) -> str:
    return f"{what}: cost {amount(cost)}, {measure(task)} {error(err, task)}"
