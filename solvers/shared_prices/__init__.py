"""Price sharing: the engine for scale. The dual state is one number a split, however many rows there are."""

from solvers.shared_prices.checkpoint import Scores
from solvers.shared_prices.memory import MemoryNeeds, memory_needed
from solvers.shared_prices.path import price_sharing_path
from solvers.shared_prices.path_point import PathPoint
from solvers.shared_prices.solve import final_scores, price_sharing

__all__ = ["MemoryNeeds", "PathPoint", "Scores", "final_scores", "memory_needed", "price_sharing", "price_sharing_path"]
