"""The top of the page: what was saved and at which loss, in one sentence and four numbers."""

from __future__ import annotations

from prunemodels.evaluation.mean_bounds import MeanInterval
from prunemodels.report_page.facts import Facts
from prunemodels.report_page.held_out_change import Difference
from prunemodels.report_page.markup import Html, join, name, tag
from prunemodels.report_page.wording import amount, change, error, less, size


def opening(facts: Facts) -> Html:
    """Title, headline, numbers."""
    return join(tag("h1", name(facts.labels.title)), headline(facts), stats(facts), certainty(facts))


def headline(facts: Facts) -> Html:
    """What was saved at which loss, on held-out examples."""
    h, task = facts.held_out, facts.task
    unit = f" {facts.labels.unit}" if facts.labels.unit else ""
    cost = f"{amount(h.cost_after.mean)}{unit} instead of {amount(h.cost_before.mean)}"
    saved = less(h.cost_before.mean, h.cost_after.mean)
    after, before = (error(x.mean, task) for x in (h.error_after, h.error_before))
    if task == "classification":
        loss = f"and {after} of the predictions are wrong " + ("as before" if after == before else f"instead of {before}")
    else:
        loss = f"and the mean squared error is {after} " + ("as before" if after == before else f"instead of {before}")
    return tag(
        "p", f"On {h.n:,} held-out examples a prediction costs {cost}, ", tag("strong", saved), f", {loss}.", class_="lede"
    )


def stats(facts: Facts) -> Html:
    """Four numbers, before and after."""
    h, task, deployment = facts.held_out, facts.task, facts.deployment
    percent = f"{100 * h.confidence:g}\u00a0%"

    def between(x: MeanInterval) -> str:
        low, high = (
            (amount(x.low), amount(x.high)) if x in (h.cost_before, h.cost_after) else (error(x.low, task), error(x.high, task))
        )
        return f"{percent} interval {low} to {high}"

    return tag(
        "dl",
        _stat("Cost per prediction", amount(h.cost_before.mean), amount(h.cost_after.mean), between(h.cost_after)),
        _stat(
            "Predictions that are wrong" if task == "classification" else "Mean squared error",
            error(h.error_before.mean, task),
            error(h.error_after.mean, task),
            between(h.error_after),
        ),
        _stat(
            "Splits in all trees",
            f"{deployment.before.splits:,}",
            f"{deployment.after.splits:,}",
            f"file {size(deployment.before.joblib_bytes)} to {size(deployment.after.joblib_bytes)}",
        ),
        _stat(
            "Features used per prediction",
            amount(facts.usage[0].features),
            amount(facts.usage[1].features),
            f"of {facts.path.problem.ensemble.n_features:,} that the forest was trained on",
        ),
        class_="stats",
    )


def _stat(label: str, before: str, after: str, more: str) -> Html:
    was = tag("span", f"{before} \u2192 ", class_="was")
    return tag("div", tag("dt", label), tag("dd", was, after, class_="big"), tag("dd", more, class_="more"))


def certainty(facts: Facts) -> Html:
    """What these examples say of the difference, pair by pair."""
    h, task = facts.held_out, facts.task
    percent = f"{100 * h.confidence:g}\u00a0%"
    saved = f"{amount(h.saving.mean)} ({percent} interval {amount(h.saving.low)} to {amount(h.saving.high)})"
    loss = (
        f"{change(h.increase.mean, task)} ({percent} interval {change(h.increase.low, task)} to {change(h.increase.high, task)})"
    )
    text = f"Both forests saw the same examples. The saving per prediction is {saved}; the error changed by {loss}. "
    text += _verdict(h.increase)
    if h.broken is not None:
        text += f" {h.broken:,} predictions went from right to wrong, {h.mended:,} from wrong to right."
    return tag("p", text)


def _verdict(increase: Difference) -> str:
    """Whether zero is in the interval."""
    if increase.low == increase.high == 0:
        return "No example is predicted worse or better."
    if increase.low > 0:
        return "The pruned forest errs more: zero lies outside the interval."
    if increase.high < 0:
        return "The pruned forest errs less: zero lies outside the interval."
    return "Zero lies within the interval: these examples do not tell the two forests\u2019 errors apart."
