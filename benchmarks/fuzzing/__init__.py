"""Fuzzers: random instances against enumeration (`answers`), and damaged files against every reader (`files`)."""
