"""The text rule in readable Python: the words of a text and the bucket of each word.

This is the reference; `rolling_hash` is the compiled twin and a test checks that both agree on
every input.

Characters are classified after lower-casing, by Python's own tables:
- É becomes é and vanishes, like every letter outside a-z, digit, punctuation mark and NUL;
- two foreign characters lower-case to plain letters and stay: İ (U+0130) is an i, the Kelvin sign
  (U+212A) a k;
- white space is Unicode's (`str.isspace`): a no-break space (U+00A0) separates two words, a
zero-width one (U+200B) does not.

The hash makes features and hides nothing: anybody can invert 5,000 buckets and a public rule with a
dictionary.
"""

from __future__ import annotations


def split_words(text: str) -> list[str]:
    """Split a text into words: lower-cased, everything but a-z and white space deleted, split on
    white space.

    Source: Nagy et al. 2023. Empty words never appear, so a text without letters has no words.

    >>> split_words("Cats AND dogs: 2 don'ts!")
    ['cats', 'and', 'dogs', 'donts']
    """
    kept = "".join(letter for letter in text.lower() if "a" <= letter <= "z" or letter.isspace())
    return kept.split()


def hash_to_bucket(word: str, base: int, buckets: int) -> int:
    """Hash a word of letters a-z to its bucket: (sum over i from 0 of c_i base^i) mod buckets, with
    a=1 … z=26.

    Source: Nagy et al. 2023; the sum starts at i = 0, as the paper's own examples require.

    >>> hash_to_bucket("dog", 31, 5000)
    2196
    >>> [hash_to_bucket(word, 31, 5000) for word in split_words("cats and dogs")]
    [283, 4279, 3225]
    """
    total = 0
    for letter in reversed(word):
        total = (total * base + ord(letter) - ord("a") + 1) % buckets
    return total
