"""Rows in, numbers out: hashed text, word sequences, tabular encodings, images.

What a frozen network makes of images is in `features.frozen`, which needs PyTorch. Whatever is fitted on rows is a value
(`Fitted`) that says what it releases.
"""

from tacit.features.coverage import Coverage, find_language, measure_coverage
from tacit.features.described import described
from tacit.features.encoding import encode, encode_inputs, scaled, width
from tacit.features.fitting import Fitted, describe_rare, fit, fit_seen, look_at, text_form
from tacit.features.image import Reader
from tacit.features.inputs import Block, blocks
from tacit.features.language import Language, language_name
from tacit.features.lexicon import Reading, encode_further, encode_words, plain_words, word_pieces
from tacit.features.listed import bucket_rarity
from tacit.features.projection import Projection, fit_class_projection, fit_projection
from tacit.features.seen import Seen, together
from tacit.features.spelling import bucket, words
from tacit.features.text import hashed_words
from tacit.features.word_counts import buckets_of, word_counts
from tacit.features.wordless import wordless_rows, wordless_texts

__all__ = [
    "Block",
    "Coverage",
    "Fitted",
    "Language",
    "Projection",
    "Reader",
    "Reading",
    "Seen",
    "blocks",
    "bucket",
    "bucket_rarity",
    "buckets_of",
    "describe_rare",
    "described",
    "encode",
    "encode_further",
    "encode_inputs",
    "encode_words",
    "find_language",
    "fit",
    "fit_class_projection",
    "fit_projection",
    "fit_seen",
    "hashed_words",
    "language_name",
    "look_at",
    "measure_coverage",
    "plain_words",
    "scaled",
    "text_form",
    "together",
    "width",
    "word_counts",
    "word_pieces",
    "wordless_rows",
    "wordless_texts",
    "words",
]
