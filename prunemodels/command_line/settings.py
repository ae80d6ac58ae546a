"""The numbers of this room: what commands do where no option says otherwise, and how wide they write."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """What commands do where no option says otherwise, and how wide they write."""

    evidence_lines: int = 20
    """Lines of a table that the text shows; ``--json`` has all of them."""
    demo_search_seconds: float = 3.0
    """Limit of work, in seconds by formula, of the search within each budget, where prices differ and the path has few
    prunings."""
    seed: int = 0
    """The random state is fixed, so that the same command gives the same model."""
    confidence: float = 0.95
    """Of intervals."""
    seconds_in_pipes: float = 10.0
    """Between two lines on what a command is doing, where stderr is no terminal."""
    seconds_on_terminals: float = 1.0
    """The same on terminals."""
    few_words: int = 4
    """The largest number of words or columns that a line of the table of columns names."""
    word: int = 16
    """Characters of a word there."""
    most_names: int = 6
    """The largest number of items or columns that a line names."""
    mostly: float = 0.9
    """Share of different rows above which a row that comes again is the same example, not one that happens to be equal."""
    split: float = 0.4
    """Share of the table that is kept apart where no other is given."""
    help_width: int = 80
    """Characters of a line of help and of notes."""
    grid: int = 12
    """Lambdas of a boosted model's trade-off, as many as `prune_boosted` goes along."""
    width: int = 118
    """Characters of a line."""
    label: int = 15
    """Characters of the labels."""


SETTINGS = Settings()
