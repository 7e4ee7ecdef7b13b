"""Words of every script, in readable Python: which words a text has, and which bucket each word
falls into.

This is the reference; `scripts_compiled` is the compiled twin and a test checks that both agree on
every input. The rule follows Unicode's word boundaries (UAX 29), except for what only a dictionary
could decide:
- letters of any script, marks on them, digits and the underscore make words; case is folded,
  accents stay;
- an apostrophe inside a word is dropped (don't and don\u2019t are dont), a point or comma between
  two digits is kept (3.14);
- `#` right before a word belongs to it, so a hashtag is another word than the plain one;
- scripts that write no spaces (Han, Hiragana, Thai, Lao, Khmer, Burmese, Yi) are read in pairs of
  neighbours, \u6771\u4eac\u90fd as
  \u6771\u4eac and \u4eac\u90fd, and a character without neighbours alone; Katakana and Hangul are
  read as words;
- each emoji is a word; skin tones, joiners and variants are passed over, and a flag is its pair of
  letters.

Where the settings ask for it, neighbouring words count too, and character n-grams of words
(`terms`).

The Unicode tables of the running Python decide what a character is. The hash makes features and
hides nothing: anybody can invert a public rule with a dictionary.
"""

from __future__ import annotations

import unicodedata

BREAK, LETTER, PAIRED, PICTURE, IGNORED, APOSTROPHE, POINT, HASHTAG = range(8)
"""Class of a character: it ends a word, is part of one, is read with its neighbour, is a word, is
skipped, or the next character decides.
"""

BASE, MIX, WHOLE = 0x9E3779B97F4A7C15, 0xD6E8FEB86659FD93, 2**64 - 1
LAST_TABLED = 0x1FFFF
"""Code points above it are ideographs (planes 2 and 3), or are not read."""

_SPECIAL = {
    "'": APOSTROPHE,
    "\u2019": APOSTROPHE,
    ".": POINT,
    ",": POINT,
    "#": HASHTAG,
    "\uff03": HASHTAG,
    "\u200b": BREAK,
}
_WITHOUT_SPACES = (
    (0x0E01, 0x0E4E),
    (0x0E81, 0x0EDF),
    (0x1000, 0x109F),
    (0x1780, 0x17DD),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3038, 0x303B),
    (0x3041, 0x309F),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xA000, 0xA48C),
    (0xF900, 0xFAFF),
)
_FLAGS = (0x1F1E6, 0x1F1FF)
_TONES = (0x1F3FB, 0x1F3FF)
_VARIANTS = (0xFE00, 0xFE0F)
_SYMBOLS = ((0x2190, 0x24FF), (0x25A0, 0x27FF), (0x2900, 0x2BFF), (0x1F000, 0x1FAFF))


def split_words(text: str) -> list[str]:
    """Split a text in any script into words, in order.

    >>> split_words("Don't! 3.14 Привет, #мир 東京都 👍🏽")
    ['dont', '3.14', 'привет', '#мир', '東京', '京都', '👍']
    """
    return [
        word
        for unit, in_pairs in _split_units(text)
        for word in (_list_pairs(unit) if in_pairs else [unit])
    ]


def _split_units(text: str) -> list[tuple[str, bool]]:
    """Split a text into words in order, with unspaced runs left whole; also return whether each is
    such a run.
    """
    found: list[tuple[str, bool]] = []
    word, run = "", ""
    kinds = [classify_character(ord(character)) for character in text]
    for at, (character, what) in enumerate(zip(text, kinds, strict=True)):
        after = kinds[at + 1] if at + 1 < len(text) else BREAK
        if what == IGNORED or (what == APOSTROPHE and word and after == LETTER):
            continue
        if what != PAIRED and run:
            found, run = [*found, (run, True)], ""
        if (
            what == LETTER
            or (what == HASHTAG and not word and after == LETTER)
            or (what == POINT and _is_between_digits(text, at))
        ):
            word += "#" if what == HASHTAG else chr(fold_case(ord(character)))
            continue
        if word:
            found, word = [*found, (word, False)], ""
        if what == PAIRED:
            run += character
        elif what == PICTURE:
            found = [*found, (character, False)]
    return found + ([(word, False)] if word else []) + ([(run, True)] if run else [])


def list_term_hashes(text: str, ngrams: int = 1, characters: tuple[int, ...] = ()) -> list[int]:
    """List the 64-bit hashes of a text's terms: its words, word n-grams up to `ngrams`, and
    character n-grams.

    Character n-grams have the lengths from `characters[0]` to `characters[1]` and are taken from a
    word or an unspaced run padded with a space at each end. One more space comes first, so that no
    n-gram equals a word.

    >>> list_term_hashes("red cat", ngrams=2)[2] == join_hashes(hash_word("red"), hash_word("cat"))
    True
    >>> grams = "  ca", "  cat", " cat", " cat ", " at "
    >>> list_term_hashes("cat", characters=(3, 4))[1:] == [hash_word(gram) for gram in grams]
    True
    """
    singles = [hash_word(word) for word in split_words(text)]
    found, longer = list(singles), singles
    for size in range(1, ngrams):
        longer = [
            join_hashes(first, last) for first, last in zip(longer, singles[size:], strict=False)
        ]
        found += longer
    fewest, most = characters or (1, 0)
    for unit, _ in _split_units(text):
        ended = f" {unit} "
        places = [(at, at + size) for at in range(len(ended)) for size in range(fewest, most + 1)]
        found += [hash_word(" " + ended[at:end]) for at, end in places if end <= len(ended)]
    return found


def hash_to_bucket(word: str, buckets: int) -> int:
    """Hash a word to its bucket.

    >>> hash_to_bucket("привет", 5000), hash_to_bucket("dog", 5000)
    (4153, 2082)
    """
    return find_bucket(hash_word(word), buckets)


def find_bucket(term: int, buckets: int) -> int:
    """Map a term to its bucket: the top bits of its mixed hash, scaled to the number of buckets."""
    return (_mix(term) >> 32) * buckets >> 32


def hash_word(word: str) -> int:
    """Hash a word's characters with a 64-bit polynomial, modulo 2^64."""
    total = 0
    for character in word:
        total = (total * BASE + ord(character)) & WHOLE
    return total


def join_hashes(first: int, last: int) -> int:
    """Hash a word sequence to 64 bits; earlier words are mixed, so that no longer word has the same
    hash.
    """
    return (_mix(first) * BASE + last) & WHOLE


def _mix(term: int) -> int:
    return (term ^ term >> 32) * MIX & WHOLE


def classify_character(point: int) -> int:
    """The class of a character."""
    character = chr(point)
    if character in _SPECIAL:
        return _SPECIAL[character]
    if point > LAST_TABLED:
        return PAIRED if point <= 0x3FFFF else IGNORED
    category = unicodedata.category(character)
    if category in ("Cf", "Me") or _is_within(point, _TONES, _VARIANTS):
        return IGNORED
    if _is_within(point, _FLAGS):
        return PAIRED
    if category[0] in "LMN" or category == "Pc":
        return PAIRED if category != "Nd" and _is_within(point, *_WITHOUT_SPACES) else LETTER
    # An emoji that is newer than the tables is an emoji all the same.
    return PICTURE if category in ("So", "Cn") and _is_within(point, *_SYMBOLS) else BREAK


def fold_case(point: int) -> int:
    """Fold a character's case; of the few that fold to several, the first."""
    several = chr(point).casefold()
    return ord(several if len(several) == 1 else chr(point).lower()[0])


def _list_pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or ([run] if run else [])


def _is_between_digits(text: str, at: int) -> bool:
    return 0 < at < len(text) - 1 and text[at - 1] in "0123456789" and text[at + 1] in "0123456789"


def _is_within(point: int, *ranges: tuple[int, int]) -> bool:
    return any(low <= point <= high for low, high in ranges)
