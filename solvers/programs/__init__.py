"""Optimal prunings from linear and integer programs, by any engine."""
