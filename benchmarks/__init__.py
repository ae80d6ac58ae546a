"""Measurements of speed, memory and accuracy. They are not tests; every figure of the README comes from here."""
