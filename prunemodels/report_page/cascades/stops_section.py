"""The section on which examples stop where: by every policy, and by the chosen one with the items bought by then."""

from __future__ import annotations

from prunemodels.evaluation.wording import amount, count, error, share
from prunemodels.report_page.cascades.facts import CascadeFacts, OnRows
from prunemodels.report_page.cascades.layers_chart import layers_chart
from prunemodels.report_page.cascades.staircase_chart import LISTED, staircase_chart
from prunemodels.report_page.document import Section
from prunemodels.report_page.markup import Html, join, name, table, tag


def stops_section(facts: CascadeFacts) -> Section | None:
    """The section with both charts and a table; None without rows."""
    if facts.on_rows is None:
        return None
    seen = facts.on_rows
    charts = tag("div", layers_chart(facts, seen), staircase_chart(facts, seen), class_="pair")
    details = tag("details", tag("summary", "Who stops where, as a table"), _table(facts, seen))
    return "stops", "Who stops where", join(charts, details)


def _table(facts: CascadeFacts, seen: OnRows) -> Html:
    """The chart of the chosen policy as a table."""
    rows: list[list[object]] = [
        [
            f"stage {row['stage']}",
            share(row["share"]),
            amount(row["cost"]),
            error(row["error"], facts.task),
            tag("span", _listed(list(row["bought"])), class_="words"),
        ]
        for row in seen.stops.to_frame().to_dict("records")
    ]
    header: list[object] = [
        "stops at",
        "of the examples",
        "cost",
        "error",
        tag("span", "most of them have bought", class_="words"),
    ]
    caption = "The examples by the stage at which they stop, and what more than half of them have bought by then"
    return table(caption, header, rows, id_="who")


def _listed(names: list[str]) -> Html:
    if not names:
        return Html("nothing")
    few = [part for k, text in enumerate(names[:LISTED]) for part in (([", "] if k else []) + [name(text)])]
    return join(*few, f" and {count(len(names) - LISTED, 'more item')}" if len(names) > LISTED else None)
