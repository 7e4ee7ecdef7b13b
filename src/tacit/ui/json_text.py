"""JSON for pages. A record may have numbers that are not finite, which JSON cannot say."""

from __future__ import annotations

import json
import math
from typing import Any


def encode_json(value: Any, **options: Any) -> str:
    """Encode a value as JSON; numbers that are not finite become null."""
    try:
        return json.dumps(value, allow_nan=False, **options)
    except ValueError:
        return json.dumps(_replace_non_finite(value), allow_nan=False, **options)


def _replace_non_finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _replace_non_finite(one) for key, one in value.items()}
        case list() | tuple():
            return [_replace_non_finite(one) for one in value]
        case _:
            return value
