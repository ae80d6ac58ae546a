"""The section on the proof: the checks, their verdicts, and the limits of what is proven."""

from __future__ import annotations

import re

from proofs_checks.verdict import Verdict
from prunemodels.evaluation.wording import error, exactly
from prunemodels.report_page.evidence import Evidence, figures_of
from prunemodels.report_page.facts import Facts
from prunemodels.report_page.markup import Html, join, tag

ANSWERS = {True: ("yes", "Verified."), False: ("no", "Refuted."), None: ("open", "Undecided.")}


def proof(facts: Facts) -> tuple[str, str, Html]:
    """The section, with its identifier and heading."""
    e = facts.evidence
    verdicts = [v for v in (e.of_path, e.of_solution) if v is not None]
    parts = [
        tag("p", answer(e.holds, "the optimisation on the samples"), " ", _in_words(facts)),
        tag("p", _future(facts)),
        tag("ul", *(tag("li", verdict(v)) for v in verdicts), class_="plain"),
        tag("h3", "In exact numbers"),
        tag("dl", *_exact(facts), class_="facts"),
        tag("h3", "What is not proven"),
        tag("ul", *(tag("li", text) for text in _limits(facts)), class_="plain"),
    ]
    return "proof", "What is proven", join(*parts)


def answer(holds: bool | None, what: str) -> Html:
    """The outcome of a check, and what was checked."""
    class_, word = ANSWERS[holds]
    return tag("strong", f"{word[:-1]}: {what}.", class_=f"verdict {class_}")


def verdict(v: Verdict) -> Html:
    """A claim, whether it holds, and how that was decided."""
    class_, word = ANSWERS[v.holds]
    figures = figures_of(v)
    return join(
        tag("span", word, class_=f"verdict {class_}"),
        f" {_rounded(f'{v.claim[:1].upper()}{v.claim[1:]}')}. How: {v.method}",
        f"; {figures}." if figures else ".",
    )


def _rounded(claim: str) -> str:
    """A claim with at most six digits a number; all digits stand under "In exact numbers"."""
    return re.sub(r"\d+\.\d{6,}(e-\d+)?", lambda number: f"{float(number[0]):.6g}", claim)


def _in_words(facts: Facts) -> str:
    """A sentence on what the verdicts mean for the chosen pruning."""
    e, task = facts.evidence, facts.measure
    if e.holds is False:
        return "A check found something wrong, see below: do not rely on this pruning until that is explained."
    if e.holds is None:
        return "The checks could not decide everything, see below."
    if e.solution is not None:
        s = e.solution
        of = "within the budget" if facts.solution is not None else "of at most this cost"
        if e.proven_bound is not None:
            reached = "which the chosen one reaches" if s.gap == 0 else f"which leaves a gap of {error(s.gap, task)}"
            return (
                f"No pruning {of} has less error on the samples than {error(e.proven_bound, task)}; the chosen one has "
                f"{error(s.error, task)}. Branch and bound, which leaves no certificate to verify, raises this bound to "
                f"{error(s.bound, task)}, {reached}."
            )
        if s.gap == 0:
            return f"No pruning {of} has less error on the samples than the chosen one."
        return (
            f"No pruning {of} has less error on the samples than {error(s.bound, task)}; the chosen one has "
            f"{error(s.error, task)}. The gap between them, {error(s.gap, task)}, is open."
        )
    return f"The chosen pruning is optimal on the samples: no pruning has less error plus lambda times cost, for {_interval(e)}."


def _future(facts: Facts) -> str:
    """What is not verified, and what the held-out examples say about it."""
    text = "Cost and error on future examples cannot be proven: the held-out examples estimate them."
    if facts.over_budget:
        text += " On these this pruning costs more than the budget; see the top of the page."
    return text


def _interval(e: Evidence) -> str:
    if e.lam_from is None:
        return "no lambda"
    first = f"{float(e.lam_from):.6g}"
    return f"every lambda from {first} on" if e.lam_to is None else f"every lambda from {first} to {float(e.lam_to):.6g}"


def _exact(facts: Facts) -> list[Html]:
    """Exact fractions, computed from the problem's integers."""
    e, s = facts.evidence, facts.evidence.solution
    rows: list[tuple[str, object]] = [
        ("cost, cost sample", exactly(e.cost)),
        ("trees\u2019 error, error sample", exactly(e.error)),
    ]
    if e.row is not None and e.lam_from is not None:
        end = "\u221e" if e.lam_to is None else exactly(e.lam_to)
        rows.append(("optimal for lambda", f"{exactly(e.lam_from)} to {end}, row {e.row} of {len(facts.path)} of the path"))
    if s is not None:
        rows.append(("budget" if facts.solution is not None else "compared at the cost", exactly(s.budget)))
        rows.append(("relaxation LP1", exactly(s.relaxation.value)))
        rows.append(("lambda*", exactly(s.relaxation.lam)))
        rows.append(("bound, gap", f"{s.bound!r}, {s.gap!r} ({s.status})"))
    return [join(tag("dt", term), tag("dd", text)) for term, text in rows]


def _limits(facts: Facts) -> list[str]:
    """The limits of the proof."""
    limits = [
        "All claims are about the samples: the trees\u2019 mean error on the error sample, and the cost on the cost sample. "
        "On other examples cost and error are estimates, with the intervals given above.",
        "Only prunings of this forest are compared. Another forest, for example one that was grown with costs in mind, "
        "may do better.",
        "Pruning minimises the mean of the trees\u2019 errors, not the error of their vote.",
    ]
    if facts.evidence.rounded:
        limits.append(
            "Prices, weights or errors were rounded to a grid of integers; the figures above allow for what that can change."
        )
    if facts.evidence.row is None and facts.evidence.solution is not None and facts.evidence.solution.gap > 0:
        limits.append("Whether a better pruning lies in the gap is open.")
    if facts.evidence.proven_bound is not None and facts.evidence.solution is not None:
        limits.append(
            f"The bound of {facts.evidence.solution.bound!r} is above the relaxation\u2019s, {facts.evidence.proven_bound!r}. It "
            "comes from branch and bound and carries no certificate, so only the relaxation\u2019s is verified here."
        )
    return limits
