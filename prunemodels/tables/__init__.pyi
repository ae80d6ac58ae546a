"""The public names of this namespace, and where each lives; see `formulations.lazy_names`."""

from prunemodels.tables.error_sample import GivenTable as GivenTable
from prunemodels.tables.evaluation import (
    evaluate_on_table as evaluate_on_table,
    evaluate_path_on_table as evaluate_path_on_table,
    hold_out_on_table as hold_out_on_table,
)
from prunemodels.tables.problem import problem_from_table as problem_from_table
from prunemodels.tables.table import ChunkedTable as ChunkedTable
