"""Tables larger than memory: read in chunks of rows, each forgotten before the next.

What is read, and how: `table`, `sources`, `cells`; chunks as a forest takes them: `reading`, `rows_in_turn`; what is made of
them: `problem`, `error_sample`, `evaluation`.
"""

from prunemodels.tables.error_sample import GivenTable
from prunemodels.tables.evaluation import evaluate_on_table, evaluate_path_on_table, hold_out_on_table
from prunemodels.tables.problem import problem_from_table
from prunemodels.tables.table import ChunkedTable

__all__ = [
    "ChunkedTable",
    "GivenTable",
    "evaluate_on_table",
    "evaluate_path_on_table",
    "hold_out_on_table",
    "problem_from_table",
]
