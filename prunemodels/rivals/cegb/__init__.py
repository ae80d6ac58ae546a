"""Cost efficient gradient boosting (CEGB17): boosted trees that pay for what examples have not bought yet."""

from prunemodels.rivals.cegb.estimators import CEGBClassifier, CEGBRegressor

__all__ = ["CEGBClassifier", "CEGBRegressor"]
