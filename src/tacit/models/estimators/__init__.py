"""Training and hashed text as scikit-learn estimators: fit, predict, pipelines, grid search."""

from tacit.models.estimators.classifier import FederatedClassifier
from tacit.models.estimators.hashed_text import HashedText

__all__ = ["FederatedClassifier", "HashedText"]
