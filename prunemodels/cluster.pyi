"""The public names of this namespace, and where each lives; see `formulations.extras`."""

from solvers.price_sharing.cluster import (
    ShardedProblem as ShardedProblem,
    ShardedSolution as ShardedSolution,
    array_parts as array_parts,
    parquet_parts as parquet_parts,
    shard_recipes as shard_recipes,
    sharded_price_sharing as sharded_price_sharing,
    start_workers as start_workers,
)
