"""Chapters that run; `notebooks.execute` stores what they print and draw."""
