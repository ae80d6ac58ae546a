"""Price sharing: the engine for large instances. Its dual state is one number for each split, however many rows there are."""

from solvers.price_sharing.rows import Scores
from solvers.price_sharing.solve import MemoryNeeds, final_scores, memory_needed, price_sharing

__all__ = ["MemoryNeeds", "Scores", "final_scores", "memory_needed", "price_sharing"]
