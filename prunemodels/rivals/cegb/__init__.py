"""Cost efficient gradient boosting (CEGB17): boosted trees that pay for what examples have not bought yet."""

from prunemodels.rivals.cegb.classifier import CEGBClassifier
from prunemodels.rivals.cegb.regressor import CEGBRegressor

__all__ = ["CEGBClassifier", "CEGBRegressor"]
