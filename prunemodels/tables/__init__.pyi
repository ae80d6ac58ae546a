"""The public names of this namespace, and where each lives; see `formulations.extras`."""

from prunemodels.tables.problem import GivenTable as GivenTable
from prunemodels.tables.problem import problem_from_table as problem_from_table
from prunemodels.tables.table import ChunkedTable as ChunkedTable
