"""The data of a pruning problem and its models; the other packages import this one."""

from formulations.extras import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
