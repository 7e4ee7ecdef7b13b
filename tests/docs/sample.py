"""Random docstrings and sentences to judge: `python -m tests.docs.sample --seed 7`.

Prints docstrings of `src` and `papers/src`, then sentences of documents, help texts and errors. A
reader marks each that a native-speaking engineer would stumble over. With `--documents` only
sentences of documents, to check each against the code by running it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

import numpy as np

from tests.docs.prose import ROOT, Passage, read_all

SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`])")
SHORTEST = 5
"""Words of a sentence; shorter ones are headings and table cells."""
LEAST_WORDS = 0.7
"""Share of a sentence's tokens that are words: rows of figures are no sentences."""
NOT_READ = {"CHANGELOG.md", "script.html", "style.html"}


def list_docstrings() -> list[tuple[str, str]]:
    """All docstrings, first paragraph only, with their place."""
    return [
        (passage.place, " ".join(passage.text.strip().split("\n\n")[0].split()))
        for passage in read_all([ROOT / "src", ROOT / "papers" / "src"])
        if passage.kind == "docstring" and len(passage.text.split()) >= SHORTEST
    ]


def list_sentences() -> list[tuple[str, str]]:
    """All sentences of documents, comments of examples, help texts, errors and templates."""
    return [
        (passage.place, sentence)
        for passage in read_all([ROOT])
        if (passage.kind != "docstring" or "/cli/" in passage.place)
        and passage.path.name not in NOT_READ
        for sentence in split_sentences(passage)
    ]


def list_statements() -> list[tuple[str, str]]:
    """All sentences of the README and of docs."""
    read = (ROOT / "README.md", ROOT / "docs")
    return [
        (passage.place, sentence)
        for passage in read_all([ROOT])
        if passage.path == read[0] or read[1] in passage.path.parents
        for sentence in split_sentences(passage)
    ]


def split_sentences(passage: Passage) -> Iterator[str]:
    """Split a passage at sentence ends, bullets and table cells."""
    for piece in re.split(r"\n\s*[-*] |\s\|\s?|\n\|", passage.text):
        for sentence in SENTENCE.split(" ".join(piece.split())):
            if _is_sentence(sentence):
                yield sentence.strip("# ")


def _is_sentence(text: str) -> bool:
    tokens = text.split()
    words = [
        token for token in tokens if re.fullmatch(r"[`(*\"]*[A-Za-zéü'-]{2,}[`)*.,;:\"]*", token)
    ]
    return len(tokens) >= SHORTEST and len(words) >= LEAST_WORDS * len(tokens)


def main() -> None:
    """Print a sample of both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--documents", action="store_true")
    settings = parser.parse_args()
    generator = np.random.default_rng(settings.seed)
    pools = {"docstrings": list_docstrings, "sentences": list_sentences}
    if settings.documents:
        pools = {"statements": list_statements}
    for title, find_all in pools.items():
        pool = find_all()
        print(f"== {settings.count} of {len(pool)} {title}")
        for index in sorted(generator.choice(len(pool), settings.count, replace=False)):
            place, text = pool[index]
            print(f"{place}\n    {text}")


if __name__ == "__main__":
    main()
