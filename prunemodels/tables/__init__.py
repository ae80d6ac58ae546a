"""Tables larger than memory: read in chunks of rows, of which only one is in memory at a time.

`table` reads chunks. `reading` turns them into rows for a forest. `problem` uses these rows, and so do `prunemodels.evaluate`,
`evaluate_path` and `hold_out`.
"""

from formulations.extras import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
