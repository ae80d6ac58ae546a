"""Engines side by side, each in a process of its own: seconds, memory, gaps."""
