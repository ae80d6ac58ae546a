"""Trees of linear classifiers: CSTC (Xu, Kusner, Weinberger, Chen 2013)."""

from prunemodels.rivals.cstc.cstc import CSTCClassifier, CSTCRegressor

__all__ = ["CSTCClassifier", "CSTCRegressor"]
