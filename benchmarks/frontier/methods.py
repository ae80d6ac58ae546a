"""All methods by name: the rivals and what users do today, then ours."""

from __future__ import annotations

from benchmarks.frontier.candidate import Method
from benchmarks.frontier.ours import OURS
from benchmarks.frontier.rivals import (
    budget_rf,
    catboost_penalties,
    cegb,
    cstc,
    fewer_rounds,
    forests,
    greedy_miser,
    linear,
    policy_network,
    retrained,
    value_network,
)
from formulations.errors import InvalidInputError

_MODULES = (
    retrained,
    fewer_rounds,
    forests,
    linear,
    cegb,
    catboost_penalties,
    greedy_miser,
    budget_rf,
    cstc,
    value_network,
    policy_network,
)

METHODS: dict[str, Method] = {
    method.name: method for methods in (*(module.METHODS for module in _MODULES), OURS) for method in methods
}


def method_named(name: str) -> Method:
    """The method of that name.

    Raises
    ------
    InvalidInputError
        for another name; the message lists the names.
    """
    if name not in METHODS:
        raise InvalidInputError(f"there is no method {name!r}; give one of {', '.join(repr(n) for n in METHODS)}")
    return METHODS[name]
