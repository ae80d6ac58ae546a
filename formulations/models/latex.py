"""A Pyomo model as LaTeX: its objective, its families of rows and what they define, from the names of its own components.

A family is written once: the indices of a row become letters, and what is indexed by them, by the parent of a node or by the
feature of a split gets the same letters,

    usage[9,2,0]:   w_t[9,2,0] + stopped[9] == 1       becomes       w^t_{h,m,i} + stopped_h = 1   for (h,m,i) in USAGE       (1)

Where members of a family are written in several ways, as at roots and below, each way stands there with how many have it. More
than two terms of one component are a sum over its indices; coefficients that differ have the name of the family, c^error_h.
Pyomo's own `latex_printer` (6.10) refuses named expressions, which our models are made of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import groupby
from typing import Any

import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import NegationExpression, ProductExpression, SumExpression
from pyomo.core.expr.relational_expr import EqualityExpression, InequalityExpression, RangedExpression

from formulations.arguments import checked

Key = tuple[Any, ...]

Member = dict[str, Any]
"""The indices of a member of a family, by their letters."""


@checked
def to_latex(model: pyo.ConcreteModel) -> str:
    r"""The model as an ``align*`` environment: objective, families of rows with their quantifiers, definitions, and domains.

    Rows that are not active are left out. Rows of a user's own are written in the same way.

    Examples
    --------
    >>> import prunemodels as pm
    >>> model = pm.programs.FORMULATIONS["closure"](pm.datasets.two_trees(), lam=0.1)
    >>> print(pm.programs.to_latex(model))
    \begin{align*}
    \min\quad & \mathrm{error} + \lambda\,\mathrm{cost} \\
    & y_{h} \le y_{\mathrm{par}(h)} && h \in \mathrm{BELOW} \\
    & y_{h} \le w_{m,i} && (h,m,i) \in \mathrm{USAGE} \\
    & \mathrm{error} = 1 - \sum_{h \in \mathrm{SPLITS}} c^{\mathrm{error}}_{h}\,y_{h} \\
    & \mathrm{cost} = \sum_{(m,i) \in \mathrm{PURCHASES}} w_{m,i} \\
    & y_{h} \in \{0, 1\} && h \in \mathrm{SPLITS} \\
    & w_{m,i} \in \{0, 1\} && (m,i) \in \mathrm{PURCHASES}
    \end{align*}
    """
    writer, lines = _Writer(model), list[str]()
    for objective in model.component_data_objects(pyo.Objective, active=True):
        goal = "\\min" if objective.sense == pyo.minimize else "\\max"
        lines.append(f"{goal}\\quad & {writer.text(objective.expr, {}, objective.name)}")
    for rows in model.component_objects(pyo.Constraint):
        lines += writer.family(rows, {key: row.expr for key, row in rows.items() if row.active})
    done = set[str]()
    while writer.used - done:  # a definition may use another
        for part in model.component_objects(pyo.Expression):
            if part.name in writer.used - done:
                done.add(part.name)
                lines += writer.family(part, {key: member.expr for key, member in part.items()}, defines=True)
    for part in model.component_objects(pyo.Var):
        kinds = {_domain(v) for v in part.values()}
        lines += [f"& {writer.symbol(part, _letters(part))} {kind}{_among(part)}" for kind in sorted(kinds)]
    return "\\begin{align*}\n" + " \\\\\n".join(lines) + "\n\\end{align*}"


class _Writer:
    """Writes expressions of a model, and notes which named expressions they use."""

    def __init__(self, model: Any) -> None:
        self.used = set[str]()
        ensemble = model.problem.ensemble
        parent = {h: p for h, p in enumerate(ensemble.parent.tolist()) if p >= 0}
        feature = {h: ensemble.names[int(ensemble.feature[h])] for h in model.problem.usage.splits.tolist()}
        self.functions = {"h": ("par", parent), "k": ("f", feature)}

    def family(self, part: Any, members: Mapping[Any, Any], *, defines: bool = False) -> list[str]:
        """A line for each way in which members are written."""
        letters = _letters(part)
        ways = Counter(self.text(e, dict(zip(letters, _key(k), strict=True)), part.name) for k, e in members.items())
        left = f"{self.symbol(part, letters)} = " if defines else ""
        return [
            f"& {left}{way}{_among(part)}" + (f"\\quad ({n}\\text{{ of }}{len(part)})" if n < len(part) else "")
            for way, n in ways.items()
        ]

    def text(self, node: Any, member: Member, family: str) -> str:
        """An expression of a member of a family."""
        if isinstance(node, int | float):
            return f"{node:g}"
        if isinstance(node, EqualityExpression | InequalityExpression | RangedExpression):
            sign = "=" if isinstance(node, EqualityExpression) else "\\le"
            return f" {sign} ".join(self.text(part, member, family) for part in node.args)
        if hasattr(node, "parent_component"):
            part = node.parent_component()
            self.used |= {part.name} if part.ctype is pyo.Expression else set()
            return self.symbol(part, [self.index(a, k, member) for a, k in zip(_letters(part), _key(node.index()), strict=True)])
        if isinstance(node, SumExpression):
            return self.sum(node.args, member, family)
        if isinstance(node, NegationExpression):
            return f"-{self.factor(node.args[0], member, family)}"
        if isinstance(node, ProductExpression):
            a, b = node.args
            sign, size = _signed(a)
            words = [w for w in (self.factor(size, member, family), self.factor(b, member, family)) if w != "1"]
            return sign + "\\,".join(words or ["1"])
        return str(node).replace("_", "\\_")

    def factor(self, node: Any, member: Member, family: str) -> str:
        """A part of a product."""
        text = self.text(node, member, family)
        return f"({text})" if isinstance(node, SumExpression) and len(self.terms(node.args)) > 1 else text

    def terms(self, args: Any) -> list[tuple[Any, list[Any]]]:
        """Runs of summands of the same component, each with the component; None for what is no multiple of one."""
        return [(part, list(run)) for part, run in groupby(args, key=_component)]

    def sum(self, args: Any, member: Member, family: str) -> str:
        """A sum; runs of one component are a sum over its indices."""
        words = list[str]()
        for part, run in self.terms(args):
            if part is None or len(run) <= 2:
                words += [self.text(a, member, family) for a in run]
                continue
            self.used |= {part.name} if part.ctype is pyo.Expression else set()
            own, amounts = _letters(part), {_coefficient(a) for a in run}
            amount = amounts.pop() if len(amounts) == 1 else None
            scale = f"c^{{{_word(family)}}}_{{{','.join(own)}}}\\," if amount is None else f"{abs(amount):g}\\,"
            sign = "-" if amount is not None and amount < 0 else ""
            over = _set_name(part) if len(run) == len(part) else _word(family)
            one = amount is not None and abs(amount) == 1
            words.append(f"{sign}\\sum_{{{_tuple(own)} \\in {over}}} {'' if one else scale}{self.symbol(part, own)}")
        return " + ".join(words).replace("+ -", "- ") or "0"

    def index(self, letter: str, key: Any, member: Member) -> str:
        """An index as a letter of the member's, or a function of its node; else as it is."""
        if member.get(letter) == key:
            return letter
        function, values = self.functions.get(letter, ("", {}))
        if "h" in member and values.get(member["h"]) == key:
            return rf"\mathrm{{{function}}}(h)"
        return f"\\text{{{key}}}".replace("_", r"\_") if isinstance(key, str) else str(key)

    def symbol(self, part: Any, index: list[str]) -> str:
        """A component with its indices."""
        return _word(part.name) + (f"_{{{','.join(index)}}}" if index else "")


def _word(name: str) -> str:
    """A name: one letter as it is, w_t as w^t, lam as a Greek letter, words upright."""
    first, _, second = name.partition("_")
    if len(first) == 1 and len(second) <= 1:
        return f"{first}^{{{second}}}" if second else first
    return "\\lambda" if name == "lam" else f"\\mathrm{{{name}}}".replace("_", "\\_")


def _key(index: Any) -> Key:
    return () if index is None else index if isinstance(index, tuple) else (index,)


def _letters(part: Any) -> list[str]:
    """Letters for the indices of a component: nodes h, items m and examples i, anything with a name k."""
    first: Key = next((_key(k) for k in part), ())
    if len(first) == 1 and isinstance(first[0], str):
        return ["k"]
    known = {0: [], 1: ["h"], 2: ["m", "i"], 3: ["h", "m", "i"]}
    return known.get(len(first), [f"k_{n}" for n in range(len(first))])


def _tuple(letters: list[str]) -> str:
    return letters[0] if len(letters) == 1 else f"({','.join(letters)})"


def _set_name(part: Any) -> str:
    """The name of the set that a component is indexed by; of a set without a name that of the component."""
    name = part.index_set().name
    return _word(part.name if name.startswith("Ordered") or name.endswith("_index") else name)


def _among(part: Any) -> str:
    return f" && {_tuple(_letters(part))} \\in {_set_name(part)}" if part.is_indexed() else ""


def _component(node: Any) -> Any:
    """The component that a summand is a multiple of; None for anything else."""
    inner = node.args[1] if isinstance(node, ProductExpression) and isinstance(node.args[0], int | float) else node
    inner = inner.args[0] if isinstance(inner, NegationExpression) else inner
    return inner.parent_component() if hasattr(inner, "parent_component") and _key(inner.index()) else None


def _coefficient(node: Any) -> float:
    if isinstance(node, ProductExpression):
        return float(node.args[0])
    return -1.0 if isinstance(node, NegationExpression) else 1.0


def _signed(amount: Any) -> tuple[str, Any]:
    return ("-", -amount) if isinstance(amount, int | float) and amount < 0 else ("", amount)


def _domain(variable: Any) -> str:
    if variable.is_binary():
        return "\\in \\{0, 1\\}"
    lower, upper = (("-\\infty", variable.lb)[variable.lb is not None], ("\\infty", variable.ub)[variable.ub is not None])
    return f"\\in [{lower}, {upper}]" + (" \\cap \\mathbb{Z}" if variable.is_integer() else "")
