"""The page on a cascade: its sections in order."""

from __future__ import annotations

from prunemodels.evaluation.wording import count
from prunemodels.exits.doubt import MarginDoubt
from prunemodels.exits.set_stages import SetStages
from prunemodels.exits.tree_stages import TreeStages
from prunemodels.report_page.cascades.facts import CascadeFacts
from prunemodels.report_page.cascades.opening import cascade_opening
from prunemodels.report_page.cascades.policy_chart import tradeoff_section
from prunemodels.report_page.cascades.proof_section import cascade_proof
from prunemodels.report_page.cascades.stage_table import stage_table
from prunemodels.report_page.cascades.stops_section import stops_section
from prunemodels.report_page.document import Section, data_section, document


def render_cascade(facts: CascadeFacts) -> str:
    """The page that shows the facts on a cascade."""
    parts = (stage_table, tradeoff_section, stops_section, cascade_proof, cascade_provenance)
    sections = [section for section in (part(facts) for part in parts) if section is not None]
    return document(facts.labels, cascade_opening(facts), sections, facts.versions)


def cascade_provenance(facts: CascadeFacts) -> Section:
    """The section on the data, the versions, and the command."""
    path, policy = facts.path, facts.cascade.policy_
    doubt = "margin of the two largest probabilities" if isinstance(policy.doubt, MarginDoubt) else "learned"
    rows: list[tuple[str, object]] = [
        ("cascade", f"{type(facts.cascade).__name__}, {facts.task}"),
        ("stages", _stages(facts)),
        ("learned from", count(path.n, "example")),
        ("doubt", f"{doubt}, in {count(policy.theta.shape[1], 'level')}"),
        ("path", f"{count(len(path), 'optimal policy', 'optimal policies')}"),
        ("held out", "no examples" if facts.on_rows is None else count(facts.on_rows.change.n, "example")),
    ]
    return data_section(rows, facts.labels, facts.versions)


def _stages(facts: CascadeFacts) -> str:
    """A description of the stages."""
    stages = facts.cascade.stages_
    number, stack = count(facts.n_stages, "stage"), facts.cascade.policy_.stack
    stacking = (
        "" if stack is None or not stack.stacked.any() else f"; {int(stack.stacked.sum())} also weigh what earlier ones said"
    )
    if isinstance(stages, TreeStages):
        e = stages.ensemble
        return f"{number} of one model with {count(e.n_trees, 'tree')} on {count(e.n_features, 'feature')}{stacking}"
    if isinstance(stages, SetStages):
        return f"{number}, models of their own on {count(stages.items.n_features, 'feature')} at most{stacking}"
    return f"{number}, {type(stages).__name__}{stacking}"
