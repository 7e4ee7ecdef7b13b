"""Names of clients, normalised: a simulation and every site see the same clients in a file."""

from __future__ import annotations

import polars as pl

_UNSEEN = r"[\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}\x{2800}]"
"""Characters that are not displayed: control and format characters, variation selectors, fillers."""


def normalise_names(column: pl.Series) -> pl.Series:
    """Client names as normalised text; null for blank cells. Integers stay integers.

    Names that look alike are one name (Unicode NFKC, without invisible characters), and 7.0 is 7: a
    person has one budget, whichever program wrote the file.
    """
    if column.dtype.is_integer():
        return column
    if column.dtype.is_float():
        column = column.fill_nan(None)
    if column.dtype.is_float() or column.dtype.is_decimal():
        whole = column.cast(pl.Int64, strict=False)
        column = (
            pl.select(
                pl.when(whole.cast(column.dtype) == column)
                .then(whole.cast(pl.String))
                .otherwise(column.cast(pl.String))
            )
            .to_series()
            .alias(column.name)
        )
    # Removed first: an invisible character between a letter and its accent keeps them apart.
    seen = column.cast(pl.String).str.replace_all(_UNSEEN, "").str.normalize("NFKC")
    text = seen.str.replace_all(_UNSEEN, "").str.strip_chars()
    return text.set(text == "", None).alias(column.name)


def fold_names(names: pl.Series) -> pl.Series:
    """Names without case, leading zeros and `.0`: names that fold alike may belong to one person."""
    lower = names.cast(pl.String).str.to_lowercase()
    return lower.str.replace(r"^0+(\d)", "$1").str.replace(r"\.0*$", "")


def describe_similar_names(names: pl.Series) -> list[str]:
    """A sentence for the owner if names that differ may belong to one person."""
    unique = names.drop_nulls().unique()
    alike = unique.len() - fold_names(unique).n_unique()
    if not alike:
        return []
    return [
        f"{alike:,} names of clients differ from another only in case, leading zeros or a decimal"
        " point; each has a budget of its own: write a person's name in one way"
    ]
