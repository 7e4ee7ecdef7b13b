"""A sentence about what a model reads."""

from __future__ import annotations

from dataclasses import replace

from tacit.plan import Columns, Features


def describe_inputs(columns: Columns, settings: Features) -> str:
    """Describe what a model reads of each row.

    >>> describe_inputs(Columns(text=("note",), numeric=("age",)), Features(counts="counts", words="unicode", ngrams=2))
    'how often words and up to 2 neighbouring words together occur in note, hashed to 5,000 buckets; age'
    """
    others = [*columns.numeric, *columns.categorical, *([columns.image] if columns.image else [])]
    return "; ".join(
        [
            *([_describe_text(columns, settings)] if columns.text else []),
            *([", ".join(others)] if others else []),
        ]
    )


def _describe_text(columns: Columns, settings: Features) -> str:
    where = f"in {', '.join(columns.text)}"
    if settings.has_encoder:
        words = replace(settings, text=settings.word_form) if settings.word_form else None
        encoded = (
            f"the output of the frozen encoder {settings.encoder} for the first"
            f" {settings.length:,} word pieces {where}"
        )
        return f"{encoded}; {_describe_text(columns, words)}" if words else encoded
    if settings.text in ("words", "pieces"):
        return (
            f"the first {settings.length:,}"
            f" {'word pieces' if settings.text == 'pieces' else 'words'} {where}, in order"
        )
    if settings.text == "sequence":
        return (
            f"the first {settings.length:,} words {where}, in order, hashed to {settings.buckets:,}"
            " buckets"
        )
    how = {"presence": "which", "counts": "how often", "sublinear": "1 + ln of how often"}[
        settings.counts
    ]
    weighed = f", the rarer the more by the list {settings.list}" if settings.rarity else ""
    if settings.text == "listed":
        each = "of" if settings.counts == "presence" else "each of"
        return (
            f"{how} {each} the first {settings.buckets:,} words of the list {settings.list} occur"
            f" {where}{weighed}"
        )
    return f"{how} {_describe_terms(settings)} occur {where}, hashed to {settings.buckets:,} buckets{weighed}"


def _describe_terms(settings: Features) -> str:
    terms = ["words"]
    if settings.ngrams > 1:
        terms.append(f"up to {settings.ngrams} neighbouring words together")
    if settings.characters:
        terms.append("n-grams of {} to {} characters".format(*settings.characters))
    return " and ".join(filter(None, [", ".join(terms[:-1]), terms[-1]]))
