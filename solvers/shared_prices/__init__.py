"""Price sharing: the engine for scale. The dual state is one number a split, however many rows there are."""

from solvers.shared_prices.checkpoint import Scores
from solvers.shared_prices.solve import final_scores, price_sharing

__all__ = ["Scores", "final_scores", "price_sharing"]
