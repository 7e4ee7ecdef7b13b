"""Row disclosure under k-anonymity and l-diversity: which rows may be released, and what a release
reveals.
"""

from tacit.data.k_anonymity.class_sums import ClassSums
from tacit.data.k_anonymity.findings import ClassSummary, Findings, examine
from tacit.data.k_anonymity.release import (
    RowRelease,
    build_release_schema,
    count_classes,
    decide_release,
    find_kept_classes,
)
from tacit.data.k_anonymity.similar import add_key_column, similarity_key
from tacit.data.k_anonymity.transfer import check_kinds, expand_categories, pack_rows, unpack_rows

__all__ = [
    "ClassSummary",
    "ClassSums",
    "Findings",
    "RowRelease",
    "add_key_column",
    "build_release_schema",
    "check_kinds",
    "count_classes",
    "decide_release",
    "examine",
    "expand_categories",
    "find_kept_classes",
    "pack_rows",
    "similarity_key",
    "unpack_rows",
]
