"""The papers' formulations as Pyomo models and as sparse arrays: functions that build, solve, read, measure and write them."""

from formulations.extras import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
