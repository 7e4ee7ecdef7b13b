"""The library that draws charts, packed so that a page with it stays small enough to mail; the page
unpacks it.
"""

from __future__ import annotations

import base64
import functools
import gzip

_SAFE = str.maketrans("<&", ",.")
"""Of the 85 digits two mean something in HTML; these two do not, and are no digits."""


@functools.cache
def read_library() -> str:
    """Return the text of plotly.js."""
    from plotly.offline import get_plotlyjs

    return str(get_plotlyjs())


@functools.cache
def pack_library() -> tuple[str, int]:
    """Return the library for `unpacked` in script.html and its bytes: gzip, four bytes as five of
    85 digits, nothing HTML reads.
    """
    small = gzip.compress(read_library().encode(), mtime=0)
    return base64.b85encode(small, pad=True).decode().translate(_SAFE), len(small)
