"""Text as hashed words, for scikit-learn pipelines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, Self

import polars as pl
from sklearn.base import BaseEstimator, TransformerMixin

from tacit import data, features
from tacit.errors import PlanError
from tacit.models.estimators.errors import EstimatorTypeError, EstimatorValueError
from tacit.models.estimators.matrices import to_matrix
from tacit.plan import Columns, Features, text_problems


class HashedText(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The hashed words of each text, as a sparse matrix of zeros and ones, `buckets` wide.

    Every argument is the key of that name in a plan's `[features]`, with the same default: a plan
    and this class hash a text to the same buckets. `words` defines a word: runs of letters a-z
    ("letters"), or any script, with numbers, hashtags and emoji ("unicode").

    Guarantees: stateless. There is no vocabulary and `fit` reads nothing, so it has no privacy loss
    and is optional; the row of a text depends on that text alone. The hash is public: it hides no
    word.

    >>> HashedText(buckets=5000).transform(["cats and dogs"]).indices.tolist()
    [283, 3225, 4279]
    """

    def __init__(
        self,
        buckets: int = 5000,
        *,
        words: Literal["letters", "unicode"] = "letters",
        counts: Literal["presence", "counts", "sublinear"] = "presence",
        ngrams: int = 1,
        characters: tuple[int, ...] = (),
        list: str | None = None,
        rarity: float = 0.0,
        base: int = 31,
        stop_words: bool = False,
    ) -> None:
        self.buckets = buckets
        self.words = words
        self.counts = counts
        self.ngrams = ngrams
        self.characters = characters
        self.list = list
        self.rarity = rarity
        self.base = base
        self.stop_words = stop_words

    def fit(self, X: object = None, y: object = None) -> Self:
        """Do nothing: the texts are not read."""
        return self

    def transform(self, X: Any) -> Any:
        """Hash texts: a list, a series, an array or one column of a frame; a missing text has no
        words.
        """
        texts = _convert_texts(X)
        try:
            settings = Features(**self.get_params())
        except PlanError as error:
            raise EstimatorValueError(
                str(error).replace("tacit.Features(…)", "tacit.HashedText(…)")
            ) from None
        if wrong := text_problems(settings):
            raise EstimatorValueError("; ".join(wrong).replace("features.", "HashedText."))
        weights = (
            features.compute_bucket_rarity(data.load_word_list(settings.list), settings)
            if settings.list
            else None
        )
        return to_matrix(
            features.hash_words(
                pl.DataFrame({"text": texts}), Columns(text=("text",)), settings, weights
            )
        )

    def __sklearn_tags__(self) -> Any:
        """Declare that it takes texts, not numbers, and need not be fitted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array, tags.input_tags.one_d_array = (
            True,
            False,
            True,
        )
        tags.requires_fit = False
        return tags


def _convert_texts(given: Any) -> pl.Series:
    """Convert texts to a column; raise EstimatorValueError or EstimatorTypeError if they are not
    texts.
    """
    if isinstance(given, str | bytes):
        raise EstimatorValueError(
            "HashedText.transform(X): X must be a list of texts, got one text; put it into a list"
        )
    if not isinstance(given, Iterable):
        raise EstimatorTypeError(
            f"HashedText.transform(X): X must be a list of texts, got {type(given).__name__}; give"
            " a column"
        )
    shape: tuple[int, ...] = getattr(given, "shape", ())
    if len(shape) == 2:
        if shape[1] != 1:
            raise EstimatorValueError(
                f"HashedText.transform(X): X must be one column of texts, got {shape[1]} columns;"
                " select one"
            )
        given = given.to_numpy() if hasattr(given, "to_numpy") else given
        given = given[:, 0]
    cells = list(given)
    odd = next(
        (cell for cell in cells if not (isinstance(cell, str) or cell is None or cell != cell)),
        None,
    )
    if odd is not None:
        raise EstimatorValueError(
            f"HashedText.transform(X): X must contain only texts, got {type(odd).__name__};"
            " select a column of text"
        )
    return pl.Series(
        "text", [cell if isinstance(cell, str) else "" for cell in cells], dtype=pl.String
    )
