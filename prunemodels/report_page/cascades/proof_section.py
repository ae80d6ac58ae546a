"""The section on the proof of a cascade's policy: the checks, how far its figures hold elsewhere, and the limits."""

from __future__ import annotations

from prunemodels.evaluation.wording import amount, change, error, exactly
from prunemodels.exits.set_stages import SetStages
from prunemodels.report_page.cascades.facts import CascadeFacts
from prunemodels.report_page.document import Section
from prunemodels.report_page.markup import Html, join, table, tag
from prunemodels.report_page.proof_section import answer, verdict


def cascade_proof(facts: CascadeFacts) -> Section:
    """The section, with its identifier and heading."""
    e = facts.evidence
    parts = [
        tag("p", answer(e.holds, "the policy on the rows that it was learned from"), " ", _in_words(facts)),
        tag("ul", *(tag("li", verdict(v)) for v in (e.of_path, e.of_policy)), class_="plain"),
        tag("h3", "In exact numbers, on the rows that the policy was learned from"),
        tag("dl", *_exact(facts), class_="facts"),
        tag("h3", "How the policy does on other rows"),
        tag("p", _on_other_rows(facts)),
        table("The chosen policy on three kinds of rows", ["rows", "examples", "cost", "error"], _rows(facts), id_="honesty"),
        tag("h3", "What is not proven"),
        tag("ul", *(tag("li", text) for text in _limits(facts)), class_="plain"),
    ]
    return "proof", "What is proven", join(*parts)


def _in_words(facts: CascadeFacts) -> str:
    e, task = facts.evidence, facts.task
    if e.holds is False:
        return "A check found something wrong, see below: do not rely on this policy until that is explained."
    if e.holds is None:
        return "The checks could not decide everything, see below."
    if e.row is not None and e.lam_from is not None:
        first = f"{float(e.lam_from):.6g}"
        lam = f"from {first} on" if e.lam_to is None else f"from {first} to {float(e.lam_to):.6g}"
        return (
            f"For every lambda {lam}, no policy with these stages and these levels of doubt has less error plus lambda times "
            "cost on the rows that it was learned from."
        )
    if e.error == e.bound:
        return "Of policies with these stages and these levels of doubt, none of at most this cost errs less on these rows."
    return (
        "The chosen policy is not on the path; it was chosen for a budget. On the rows that it was learned from, "
        f"no policy with these stages and these levels of doubt that costs at most {amount(float(e.cost))} errs less than "
        f"{error(float(e.bound), task)}; the chosen one errs {error(float(e.error), task)}."
    )


def _exact(facts: CascadeFacts) -> list[Html]:
    """Exact fractions, computed from the problem's integers."""
    e = facts.evidence
    rows: list[tuple[str, object]] = [("mean cost", exactly(e.cost)), ("error", exactly(e.error))]
    if e.row is not None and e.lam_from is not None:
        end = "\u221e" if e.lam_to is None else exactly(e.lam_to)
        rows.append(("optimal for lambda", f"{exactly(e.lam_from)} to {end}, row {e.row} of {len(facts.path)} of the path"))
    else:
        rows.append(("no policy of this cost errs less than", exactly(e.bound)))
    return [join(tag("dt", term), tag("dd", text)) for term, text in rows]


def _on_other_rows(facts: CascadeFacts) -> str:
    """How much better the policy looks on the rows that it was learned from than on others."""
    cascade, task, e = facts.cascade, facts.task, facts.evidence
    own = float(e.error)
    text = (
        "Thresholds and policy were chosen by the labels of the rows that they were learned from, so figures on these rows "
        f"are too good. The error there is {error(own, task)}. Cross-fitted, that is for policies learned from one part of these "
        f"rows and judged on the others, it is {error(cascade.held_out_error_, task)}, "
        f"{_difference(cascade.held_out_error_, own, task)}"
    )
    if facts.on_rows is None:
        return f"{text}. No other examples were given."
    seen = facts.on_rows.change.error_after.mean
    return f"{text}. On the examples given here it is {error(seen, task)}, {_difference(seen, own, task)}."


def _difference(seen: float, own: float, task: str) -> str:
    """The difference between two errors as text; differences by rounding are ignored."""
    return "the same" if abs(seen - own) <= 1e-9 * max(seen, own) else change(seen - own, task)


def _rows(facts: CascadeFacts) -> list[list[object]]:
    cascade, task, e = facts.cascade, facts.task, facts.evidence
    n = f"{facts.path.n:,}"
    rows: list[list[object]] = [
        ["that it was learned from", n, amount(float(e.cost)), error(float(e.error), task)],
        ["the same, cross-fitted", n, amount(cascade.held_out_cost_), error(cascade.held_out_error_, task)],
    ]
    if facts.on_rows is None:
        return [*rows, ["given here", "none", "", ""]]
    h = facts.on_rows.change
    half = (h.error_after.high - h.error_after.mean, h.cost_after.high - h.cost_after.mean)
    wrong = f"{error(h.error_after.mean, task)} \u00b1 {error(half[0], task)}"
    return [*rows, ["given here", f"{h.n:,}", f"{amount(h.cost_after.mean)} \u00b1 {amount(half[1])}", wrong]]


def _limits(facts: CascadeFacts) -> list[str]:
    """The limits of the proof."""
    limits = [
        "Stages, doubts and levels are learned. No theorem excludes that others would do better.",
        "All claims are about the rows that the policy was learned from. On other examples cost and error are estimates.",
    ]
    if isinstance(facts.cascade.stages_, SetStages):
        limits.append(
            "If the stages were fitted again after the policy was chosen, the figures from fitting are those of the folds\u2019 "
            "models, which saw fewer rows. Only examples that played no part in fitting show how the final models do."
        )
    if facts.evidence.rounded:
        limits.append("Gains or prices were rounded to a grid of integers; the figures above allow for what that can change.")
    return limits
