"""The papers' counterexample, step by step."""
