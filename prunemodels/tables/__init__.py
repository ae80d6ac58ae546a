"""Tables larger than memory: read in chunks of rows, each forgotten before the next.

What is read, and how: `table`, `sources`, `cells`; chunks as a forest takes them: `reading`, `rows_in_turn`; what is made of
them: `problem`, `error_sample`, `evaluation`.
"""

from prunemodels.lazy_names import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
