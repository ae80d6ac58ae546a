"""Checkers of answers, certificates and matrices. They share no code with what they check; each answers with a `Verdict`."""

from formulations.extras import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
