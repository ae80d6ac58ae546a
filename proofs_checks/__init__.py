"""Evidence: checkers that share no code with what they check. Each answers with a `Verdict` and what shows it."""

from formulations.extras import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
