"""Table 1 of BP16 as a picture: pairs of example and feature by the number of trees that use them."""

from __future__ import annotations

from prunemodels.evaluation.wording import share
from prunemodels.report_page.chart import legend, picture
from prunemodels.report_page.facts import Facts
from prunemodels.report_page.markup import Html, tag
from prunemodels.report_page.tree_charts import AFTER, BEFORE
from prunemodels.report_page.usage_counts import FEW

NAMES = ("no tree", f"1 to {FEW} trees", f"more than {FEW}")


def usage_chart(facts: Facts) -> Html:
    """The chart: a pair of bars, before and after, for each of three numbers of trees."""
    before, after = (counts.bins for counts in facts.usage)
    parts = []
    for k, (label, was, now) in enumerate(zip(NAMES, before, after, strict=True)):
        y = 8 + 58 * k
        parts.append(tag("text", label, x=0, y=y + 24, class_="quiet"))
        for bar, class_, bar_y in ((was, "was-bar", y), (now, "now-bar", y + 21)):
            parts.append(tag("rect", x=96, y=bar_y, width=f"{240 * bar:.1f}", height=18, class_=class_))
            parts.append(tag("text", share(bar), x=f"{96 + 240 * bar + 6:.1f}", y=bar_y + 13.5))
    description = "; ".join(
        f"{label}: {share(was)} before, {share(now)} after" for label, was, now in zip(NAMES, before, after, strict=True)
    )
    svg = picture(400, 176, "How many trees use a feature for an example", f"{description}.", *parts, id_="usage-chart")
    return tag("figure", svg, legend([(BEFORE, "before"), (AFTER, "after")]))
