"""All methods by name: the rivals and what users do today, then ours."""

from __future__ import annotations

from benchmarks.frontier.candidate import Method
from benchmarks.frontier.ours import OURS
from benchmarks.frontier.rivals import boosted, columns, forests, linear, policy_network, priced, value_network
from formulations.errors import InvalidInputError

_MODULES = (columns, boosted, forests, linear, priced, value_network, policy_network)

METHODS: dict[str, Method] = {
    method.name: method for methods in (*(module.METHODS for module in _MODULES), OURS) for method in methods
}


def method_named(name: str) -> Method:
    """The method of that name."""
    if name not in METHODS:
        raise InvalidInputError(f"there is no method {name!r}; give one of {', '.join(repr(n) for n in METHODS)}")
    return METHODS[name]
