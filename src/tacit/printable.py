"""Text that people read on a terminal, made unable to command it."""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tab and line feed, marks that reverse the direction of text, and halves of characters."""


def printable(text: str) -> str:
    """Return a text with every character that could command the terminal written out, such as \\x1b for escape.

    >>> printable("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
