"""Price sharing with the rows of the cost sample on a cluster."""

from solvers.price_sharing.cluster.ray_workers import ray_workers, start_workers
from solvers.price_sharing.cluster.sharded_price_sharing import ShardedSolution, sharded_price_sharing
from solvers.price_sharing.cluster.sharded_problem import ShardedProblem, shard_recipes
from solvers.price_sharing.cluster.workers import ArrayRows, LocalWorkers, ParquetRows, Workers, array_parts, parquet_parts

__all__ = [
    "ArrayRows",
    "LocalWorkers",
    "ParquetRows",
    "ShardedProblem",
    "ShardedSolution",
    "Workers",
    "array_parts",
    "parquet_parts",
    "ray_workers",
    "shard_recipes",
    "sharded_price_sharing",
    "start_workers",
]
