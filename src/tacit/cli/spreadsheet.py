"""Escapes cells that a spreadsheet would treat as formulas, reversibly."""

from __future__ import annotations

import re

_FORMULA = r"[=+\-@\t\r\n＝＋－＠]"
_DANGEROUS = re.compile(f"'*{_FORMULA}")
_ESCAPED = re.compile(f"''*{_FORMULA}")
_NUMBER = re.compile(r"[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?")


def escape_cell(text: str) -> str:
    """Put an apostrophe before text that would begin a formula. Numbers are unchanged.

    >>> escape_cell('=HYPERLINK("http://a")'), escape_cell("-3.5"), escape_cell("up"), escape_cell("'=1")
    ('\\'=HYPERLINK("http://a")', '-3.5', 'up', "''=1")
    """
    return f"'{text}" if _DANGEROUS.match(text) and not _NUMBER.fullmatch(text) else text


def unescape_cell(text: str) -> str:
    """Invert `escape_cell`: remove the first apostrophe of those before a formula's first
    character.

    >>> unescape_cell("'=1"), unescape_cell("''=1"), unescape_cell("'tis")
    ('=1', "'=1", "'tis")
    """
    return text[1:] if _ESCAPED.match(text) else text
