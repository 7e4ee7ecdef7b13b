"""Rows in, numbers out: hashed text, word sequences, tabular encodings, images.

Whatever is fitted on rows is a value (`Fitted`) that says what it releases.
"""

from tacit.features.encoding import encode, width
from tacit.features.fitting import Fitted, fit
from tacit.features.spelling import bucket, words

__all__ = ["Fitted", "bucket", "encode", "fit", "width", "words"]
