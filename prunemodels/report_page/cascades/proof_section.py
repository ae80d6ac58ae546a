"""The section on the proof of a cascade's policy: the checks, how far its figures hold elsewhere, and the limits."""

from __future__ import annotations

from fractions import Fraction

from prunemodels.evaluation.wording import amount, change, error, exactly
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
            f"For every lambda {lam}, no policy with these stages and these levels of doubt has less expected error plus lambda "
            "times cost on the rows that it was learned from."
        )
    if e.error == e.bound:
        return "Of policies with these stages and these levels of doubt, none of at most this cost is expected to err less."
    return (
        "The chosen policy is not on the path; it spends a budget. On the rows that it was learned from, no policy with these "
        f"stages that treats each level of doubt alike and costs at most {amount(float(e.cost))} is expected to err less than "
        f"{error(float(e.bound), task)}; the chosen one, {error(float(e.error), task)}."
    )


def _exact(facts: CascadeFacts) -> list[Html]:
    """Exact fractions, computed from the problem's integers, but for a policy that divides a level."""
    e = facts.evidence
    cost, wrong = (exactly(x) if isinstance(x, Fraction) else f"{x:.10g}" for x in (e.cost, e.error))
    rows: list[tuple[str, object]] = [("mean cost", cost), ("expected error", wrong)]
    if e.row is not None and e.lam_from is not None:
        end = "\u221e" if e.lam_to is None else exactly(e.lam_to)
        rows.append(("optimal for lambda", f"{exactly(e.lam_from)} to {end}, row {e.row} of {len(facts.path)} of the path"))
    else:
        rows.append(("no policy of this cost errs less than", exactly(e.bound)))
    return [join(tag("dt", term), tag("dd", text)) for term, text in rows]


def _on_other_rows(facts: CascadeFacts) -> str:
    """How much better the policy looks on the rows that it was learned from than on others."""
    cascade, task = facts.cascade, facts.task
    own = cascade.error_
    text = (
        "Thresholds and policy were chosen by the rows that they were learned from, so figures on these rows are too good. "
        f"The error there is {error(own, task)}. Cross-fitted, that is for policies learned from one part of these "
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
    cascade, task, sample = facts.cascade, facts.task, facts.path.sample
    own = "that it was learned from" + ("" if sample.own.all() else ", unseen by its stages")
    rows: list[list[object]] = [
        [own, f"{sample.own.sum():,}", amount(cascade.cost_), error(cascade.error_, task)],
        [
            "all of these, cross-fitted",
            f"{sample.n_rows:,}",
            amount(cascade.held_out_cost_),
            error(cascade.held_out_error_, task),
        ],
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
    if not facts.path.sample.own.all():
        limits.append(
            "The stages of one fold predict. Rows of other folds were judged by stages that were fitted in the same way without "
            "them; such stages differ, and cross-fitted figures are the mean over them."
        )
    if facts.evidence.rounded:
        limits.append("Gains or prices were rounded to a grid of integers; the figures above allow for what that can change.")
    return limits
