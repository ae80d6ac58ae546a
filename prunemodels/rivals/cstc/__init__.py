"""Trees of linear classifiers: CSTC (Xu, Kusner, Weinberger, Chen 2013) and its greedy variant ASTC (Kusner and others 2014)."""

from prunemodels.rivals.cstc.astc import ASTCClassifier, ASTCRegressor
from prunemodels.rivals.cstc.cstc import CSTCClassifier, CSTCRegressor

__all__ = ["ASTCClassifier", "ASTCRegressor", "CSTCClassifier", "CSTCRegressor"]
