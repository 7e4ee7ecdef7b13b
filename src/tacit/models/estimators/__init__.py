"""Training and hashed text as scikit-learn estimators: fit, predict, pipelines, grid search."""

try:
    from tacit.models.estimators.classifier import FederatedClassifier
    from tacit.models.estimators.hashed_text import HashedText
except ModuleNotFoundError as error:
    if error.name != "sklearn":
        raise
    raise ModuleNotFoundError(
        "tacit.FederatedClassifier and tacit.HashedText require scikit-learn; pip install"
        " 'tacit[sklearn]'",
        name="sklearn",
    ) from None

__all__ = ["FederatedClassifier", "HashedText"]
