"""Cost efficient gradient boosting (CEGB17): boosted trees that pay for what examples have not bought yet."""

from prunemodels.learners.cegb.classifier import CEGBClassifier
from prunemodels.learners.cegb.regressor import CEGBRegressor

__all__ = ["CEGBClassifier", "CEGBRegressor"]
