"""Text that people read on a terminal, made unable to command it."""

from __future__ import annotations

import re
import unicodedata

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters but tab and line feed, marks that reverse the direction of text, and halves of
characters.
"""


_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
"""Unicode's categories of characters that nobody sees."""


def is_plain_name(text: str) -> bool:
    """Return whether a text can be the name of a class or category: there is something to see in
    it, and nothing else.

    A control or format character, a line separator or a blank at either end would make a second
    name that looks like the first.

    >>> is_plain_name("type 2"), is_plain_name("type 2\\u200b"), is_plain_name(" ")
    (True, False, False)
    """
    return (
        bool(text)
        and text == text.strip()
        and not any(unicodedata.category(one) in _UNSEEN for one in text)
    )


def printable_name(text: str) -> str:
    """Return a name with every control character written out, tab and line feed among them: a name
    is part of one line.

    >>> printable_name("a\\nb\\x1b[31m")
    'a\\\\nb\\\\x1b[31m'
    """
    return printable(text).replace("\t", "\\t").replace("\n", "\\n")


def printable(text: str) -> str:
    """Return a text with every character that could command the terminal written out, such as \\x1b
    for escape.

    >>> printable("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
