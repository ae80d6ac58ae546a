"""Error samples: they say on which examples the errors of nodes are measured."""

from formulations.extras import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
