"""The chart library, compressed so that a page stays small enough to mail; the page decompresses it."""

from __future__ import annotations

import base64
import functools
import gzip

from tacit.errors import RunError

_SAFE = str.maketrans("<&", ",.")
"""Two of the 85 digits have a meaning in HTML; they are replaced by two characters that are not
digits.
"""


@functools.cache
def read_library() -> str:
    """Source text of plotly.js."""
    try:
        from plotly.offline import get_plotlyjs
    except ModuleNotFoundError:
        raise RunError(
            "the charts of a report require plotly; pip install plotly, or use --no-report"
        ) from None
    return str(get_plotlyjs())


@functools.cache
def pack_library() -> tuple[str, int]:
    """Compressed library (gzip, base 85 with digits that HTML does not interpret) and its size in
    bytes, for script.html.
    """
    small = gzip.compress(read_library().encode(), mtime=0)
    return base64.b85encode(small, pad=True).decode().translate(_SAFE), len(small)
