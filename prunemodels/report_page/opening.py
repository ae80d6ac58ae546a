"""The top of the page: the saving and the increase of the error, in one sentence and four figures."""

from __future__ import annotations

from fractions import Fraction

from formulations.instance.ensemble import Ensemble
from formulations.shown import error_name, is_rate
from prunemodels.evaluation.held_out_change import HeldOutChange
from prunemodels.evaluation.mean_bounds import MeanInterval
from prunemodels.evaluation.overrun import budget_verdict, is_overrun
from prunemodels.evaluation.wording import amount, change, count, error, interval, less, share, size
from prunemodels.report_page.facts import Facts
from prunemodels.report_page.markup import Html, join, name, tag

PERCENT = "\u00a0%"

MANY = 1000
"""From so many examples on, the second decimal of a per cent says something."""

INTERVALS = (
    "Intervals are Student\u2019s, for means over independent examples. They describe these examples and promise nothing: they "
    "have their confidence in the limit of many examples, and where a few dear ones make up most of the cost they miss the mean "
    'several times as often as stated. pm.hold_out(..., method="betting") gives longer intervals of cost and error rate that '
    "hold for every number of examples."
)
"""What the page's intervals are."""


def opening(facts: Facts) -> Html:
    """Title, headline and figures."""
    h, task = facts.held_out, facts.measure
    compared = comparison(
        (h.cost_before.mean, h.cost_after.mean), (h.error_before.mean, h.error_after.mean), task, facts.labels.unit
    )
    budget = None if facts.solution is None else facts.solution.budget
    return join(
        tag("h1", name(facts.labels.title)),
        on_budget(budget, h, facts.labels.unit),
        tag("p", f"On {h.n:,} held-out examples ", compared, ".", class_="lede"),
        stats(facts),
        certainty(h, "Both forests"),
    )


def on_budget(budget: Fraction | None, h: HeldOutChange, unit: str) -> Html | None:
    """What the held-out examples say about the budget, as a warning where they cost more; None without a budget."""
    if budget is None:
        return None
    text = budget_verdict(budget, h.cost_after, unit)
    return tag("p", text, class_="alert" if is_overrun(budget, h.cost_after) else "kept-budget")


def comparison(costs: tuple[float, float], errors: tuple[float, float], task: str, unit: str) -> Html:
    """A clause on cost and error after pruning, compared with those before; pairs are in the order before, after."""
    cost = f"{amount(costs[1])}{f' {unit}' if unit else ''} instead of {amount(costs[0])}"
    before, after = (error(x, task) for x in errors)
    measure = f"{after} of the predictions are wrong" if is_rate(task) else f"the {error_name(task)} is {after}"
    loss = "as before" if after == before else f"instead of {before}"
    return join(f"a prediction costs {cost}, ", tag("strong", less(*costs)), f", and {measure} {loss}")


def stats(facts: Facts) -> Html:
    """Four figures, each before and after."""
    deployment = facts.deployment
    return tag(
        "dl",
        *cost_and_error(facts.held_out, facts.measure, facts.labels.unit),
        stat(
            "Size, splits in all trees",
            f"{deployment.before.splits:,}",
            f"{deployment.after.splits:,}",
            f"file {size(deployment.before.joblib_bytes)} to {size(deployment.after.joblib_bytes)}",
        ),
        stat(
            "Features used per prediction",
            f"{facts.usage[0].features:.1f}",
            f"{facts.usage[1].features:.1f}",
            _trained_on(facts.path.problem.ensemble),
        ),
        class_="stats",
    )


def cost_and_error(h: HeldOutChange, task: str, unit: str) -> list[Html]:
    """The first two figures, with their intervals."""

    def ends(x: MeanInterval, low: str, high: str) -> str:
        return f"{100 * x.confidence:g}\u00a0% interval {low} to {high}"

    cost, err = h.cost_after, h.error_after
    return [
        stat(
            f"Cost per prediction, {unit or 'in the unit of the prices'}",
            amount(h.cost_before.mean),
            amount(cost.mean),
            ends(cost, amount(cost.low), amount(cost.high)),
        ),
        stat(
            "Predictions that are wrong" if is_rate(task) else error_name(task).capitalize(),
            rounded_error(h.error_before.mean, task, h.n).removesuffix(PERCENT),
            rounded_error(err.mean, task, h.n),
            ends(err, rounded_error(err.low, task, h.n).removesuffix(PERCENT), rounded_error(err.high, task, h.n)),
        ),
    ]


def rounded_error(x: float, task: str, n: int) -> str:
    """An error for a box, with one decimal of a per cent for fewer than a thousand examples, which cannot tell more."""
    return share(x, 1 if n < MANY else 2) if is_rate(task) else error(x, task)


def stat(label: str, before: str | None, after: str, note: str) -> Html:
    """A box with a figure, the figure before where there is one, and a note."""
    was = None if before is None else join(tag("span", f"{before} \u2192", class_="was"), " ")
    now = tag("span", after, class_="now")
    return tag("div", tag("dt", label), tag("dd", was, now, class_="big"), tag("dd", note, class_="more"))


def certainty(h: HeldOutChange, both: str) -> Html:
    """A paragraph on the differences of cost and error, whose intervals come from pairs on the same example.

    Parameters
    ----------
    both
        name of the two models together: "Both forests".
    """
    percent = f"{100 * h.confidence:g}\u00a0%"
    saved = f"{amount(h.saving.mean)} ({percent} interval {amount(h.saving.low)} to {amount(h.saving.high)})"
    loss = f"{change(h.increase.mean, h.measure)} ({percent} interval {interval(h.increase.low, h.increase.high, h.measure)})"
    text = f"{both} saw the same examples. The saving per prediction is {saved}; the error changed by {loss}. {h.verdict}"
    if h.broken is not None:
        text += f" {count(h.broken, 'prediction')} went from right to wrong, {h.mended:,} from wrong to right."
    return join(tag("p", text), tag("p", INTERVALS, class_="note"))


def _trained_on(ensemble: Ensemble) -> str:
    """Of how many features, or raw columns of a pipeline, predictions use some."""
    if ensemble.made is not None:
        return f"of {count(len(ensemble.column_names), 'raw column')} of the pipeline"
    return f"of {count(ensemble.n_features, 'feature')} that the forest was trained on"
