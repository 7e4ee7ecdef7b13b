"""Choose text features for a table: the words of a public list if they cover the texts, else hashed
words.

Both the table and the lists are on this machine; a sample of the texts is read, and nothing is
sent.
"""

from __future__ import annotations

from tacit import data, features
from tacit.data import Starter
from tacit.features.text.listed_words import select_common_words
from tacit.plan import Columns, Features
from tacit.plan.presets.starter import TextReading


def choose_reading(start: Starter, words: int) -> tuple[TextReading, str]:
    """Choose text features, given a list of `words` words, and describe what was measured."""
    columns, rows = Columns(text=start.texts), start.rows
    language = features.find_language(rows, columns)
    code = language.code or "en"
    ordered = data.find_word_list(code)
    named = f"the first {words:,} words of the {features.get_language_name(code)} list"
    if ordered is None:
        return _choose_by_language(language, code)
    settings = Features(text="listed", list=code, words="unicode", buckets=words)
    found = features.measure_coverage(
        rows, columns, settings, select_common_words(ordered, words, unicode=True)
    )
    measured = (
        f"{found.texts_seen:.0%} of the texts have one of {named}, and {found.words_seen:.0%} of"
        " all words are among them"
    )
    sample = f"Measured here, on a sample of {found.texts:,} texts: {measured}."
    if found.is_enough:
        why = (
            ""
            if code == "en"
            else (
                f"the texts seem to be {language.name}, and it has {found.words_seen:.0%} of their"
                " words"
            )
        )
        return TextReading("listed", code, why), sample
    why = f"{named} {_describe_coverage(found)}"
    return (
        TextReading("binary", "", why),
        f"{sample} That is too few, so the plan uses hashed words, which cover all of them.",
    )


def _describe_coverage(found: features.Coverage) -> str:
    if found.texts_seen < found.words_seen or found.texts_seen < 0.9:
        return f"occur in only {found.texts_seen:.0%} of the texts"
    return f"are only {found.words_seen:.0%} of all words"


def _choose_by_language(language: features.Language, code: str) -> tuple[TextReading, str]:
    """The choice without a list on this machine: by the language alone."""
    if language.code == "en":
        return (
            TextReading(),
            (
                "The texts seem to be English: the plan reads the words of the English list, which"
                " a run downloads (57 MB)."
            ),
        )
    if language.code:
        why = (
            f"the texts seem to be {language.name}; text = listed with list = {code} may be better"
        )
        return TextReading("binary", "", why), (
            f"The texts seem to be {language.name}, whose list is not on this machine: the plan"
            " uses hashed words. "
            f'features.text = "listed" with list = "{code}" may be better; a run downloads it (57'
            " MB)."
        )
    seen = f"{language.name} text" if language.name else "no language with a public list"
    return (
        TextReading(
            "binary",
            "",
            (
                f"the texts are {seen}"
                if language.name
                else "no public list seems to have their words"
            ),
        ),
        f"The texts show {seen}: the plan uses hashed words, which cover all of them.",
    )
