"""The experiments: every module of this package whose name begins with a paper's, and that has an ``EXPERIMENT``."""

from __future__ import annotations

import importlib
import pkgutil

import benchmarks.papers
from benchmarks.papers.experiment import Experiment
from formulations.errors import InvalidInputError

PREFIXES = ("nws15_", "bp16_", "brf15_", "cegb17_", "cstc13_", "other_")


def experiments() -> dict[str, Experiment]:
    """All experiments by name; a module may hold several as ``EXPERIMENTS``."""
    found: dict[str, Experiment] = {}
    for module in pkgutil.iter_modules(benchmarks.papers.__path__):
        if module.name.startswith(PREFIXES):
            content = importlib.import_module(f"benchmarks.papers.{module.name}")
            single = getattr(content, "EXPERIMENT", None)
            for experiment in (*getattr(content, "EXPERIMENTS", ()), *([single] if single else [])):
                found[experiment.name] = experiment
    return found


def experiment_named(name: str) -> Experiment:
    """One experiment."""
    known = experiments()
    if name not in known:
        raise InvalidInputError(f"there is no experiment {name!r}; give one of {', '.join(known)}, or all")
    return known[name]
