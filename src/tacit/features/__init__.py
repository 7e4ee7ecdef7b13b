"""Feature encoding, from rows to arrays: hashed text, word sequences, tabular columns, images.

Image features from frozen networks are in `features.frozen`, which needs PyTorch. Everything fitted
on rows is a value (`Fitted`) that lists what it releases.
"""

from tacit.features.describe import describe_inputs
from tacit.features.encoding import count_inputs, encode, encode_inputs, scale_rows
from tacit.features.fitting import (
    AnyReader,
    Fitted,
    describe_rare,
    fit,
    fit_statistics,
    split_reader,
    text_form,
)
from tacit.features.image import Reader
from tacit.features.inputs import Block, list_blocks
from tacit.features.projection import Projection, fit_class_projection, fit_projection
from tacit.features.quantise import needs_secret
from tacit.features.statistics import compute_statistics
from tacit.features.text.coverage import Coverage, find_language, measure_coverage
from tacit.features.text.hashed_text import hash_words
from tacit.features.text.language import Language, get_language_name
from tacit.features.text.lexicon import (
    TokenEncoding,
    build_piece_splitter,
    build_word_splitter,
    encode_further,
    encode_words,
)
from tacit.features.text.listed_words import compute_bucket_rarity
from tacit.features.text.spelling import hash_to_bucket, split_words
from tacit.features.text.text_reader import TextReader
from tacit.features.text.word_counts import count_words, find_word_buckets
from tacit.features.text.wordless import count_wordless_rows, count_wordless_texts

__all__ = [
    "AnyReader",
    "Block",
    "Coverage",
    "Fitted",
    "Language",
    "Projection",
    "Reader",
    "TextReader",
    "TokenEncoding",
    "build_piece_splitter",
    "build_word_splitter",
    "compute_bucket_rarity",
    "compute_statistics",
    "count_inputs",
    "count_wordless_rows",
    "count_wordless_texts",
    "count_words",
    "describe_inputs",
    "describe_rare",
    "encode",
    "encode_further",
    "encode_inputs",
    "encode_words",
    "find_language",
    "find_word_buckets",
    "fit",
    "fit_class_projection",
    "fit_projection",
    "fit_statistics",
    "get_language_name",
    "hash_to_bucket",
    "hash_words",
    "list_blocks",
    "measure_coverage",
    "needs_secret",
    "scale_rows",
    "split_reader",
    "split_words",
    "text_form",
]
