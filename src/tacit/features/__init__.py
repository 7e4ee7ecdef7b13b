"""Rows in, numbers out: hashed text, word sequences, tabular encodings, images.

Whatever is fitted on rows is a value (`Fitted`) that says what it releases.
"""

from tacit.features.encoding import encode, width
from tacit.features.fitting import Fitted, fit, text_form
from tacit.features.lexicon import encode_words, plain_words, word_pieces
from tacit.features.spelling import bucket, words

__all__ = ["Fitted", "bucket", "encode", "encode_words", "fit", "plain_words", "text_form", "width", "word_pieces", "words"]
