"""Cost and error of prunings on data that played no part in choosing them, and rules that choose by such data."""

from formulations.extras import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
