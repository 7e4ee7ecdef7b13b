"""Makes text safe to print on a terminal."""

from __future__ import annotations

import re
import unicodedata

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters except tab and line feed, marks that reverse the direction of text, and
unpaired surrogates.
"""


_BREAK = re.compile("[\t\n\u2028\u2029]")

_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Unicode categories of invisible characters."""
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\U000e0100-\U000e01ef]"
)
"""Invisible characters of other categories: joiners, fillers and variation selectors. The selector
that shows a symbol as an emoji is visible and is not among them.
"""
_SELECTOR = re.compile("(.)[\ufe00-\ufe0f]")


def is_plain_name(text: str) -> bool:
    """Whether a text can be the name of a class or category: it has visible characters and no
    invisible ones.

    A control or format character, a line separator, or a leading or trailing blank would make a
    second name that looks like the first.

    >>> is_plain_name("type 2"), is_plain_name("type 2\\u200b"), is_plain_name(" ")
    (True, False, False)
    """
    return (
        bool(text)
        and text == text.strip()
        and not any(unicodedata.category(one) in _UNSEEN for one in text)
        and not _BLANK.search(text)
        and all(unicodedata.category(one[1]).startswith("S") for one in _SELECTOR.finditer(text))
    )


_MOST_MARKS = 2
"""Combining marks that may follow one another; more of them would cover what stands around a name."""


def quote_name(text: str, most: int = 80) -> str:
    """Quote a name that somebody else chose, for a person who decides by it: everything invisible is
    escaped, and a long name is cut in the middle, with its length.

    >>> quote_name("age\u202e"), quote_name("x" * 100, 10)
    ("'age\\\\u202e'", "'xxxxx…xxxxx' (100 characters)")
    """
    cut = text if len(text) <= most else f"{text[: most // 2]}…{text[-(most // 2) :]}"
    shown, marks = "", 0
    for one in cut:
        category = unicodedata.category(one)
        marks = marks + 1 if category in ("Mn", "Me") else 0
        hidden = category in _UNSEEN or _BLANK.match(one) or marks > _MOST_MARKS
        odd_blank = category == "Zs" and one != " "
        if hidden or odd_blank:
            shown += f"\\u{ord(one):04x}"
        else:
            shown += {"\\": "\\\\", "'": "\\'"}.get(one, one)
    return f"'{shown}'" + (f" ({len(text):,} characters)" if cut != text else "")


def printable_name(text: str) -> str:
    """Escape every control character of a name, including tab and all that begin a new line: a name is
    part of one line.

    >>> printable_name("a\\nb\\x1b[31m")
    'a\\\\nb\\\\x1b[31m'
    """
    return _BREAK.sub(lambda found: found[0].encode("unicode_escape").decode(), printable(text))


def printable(text: str) -> str:
    """Escape every character that could control the terminal, such as \\x1b.

    >>> printable("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
