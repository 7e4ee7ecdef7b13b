"""Fields of a submitted form."""

from __future__ import annotations

from urllib.parse import parse_qsl

from starlette.requests import Request

_MAX_FIELDS = 200


async def read_form(request: Request) -> dict[str, str]:
    """Read the fields of a form, the last value of each name; empty if the form is malformed.

    The gate has limited the size of the body.
    """
    body = await request.body()
    try:
        pairs = parse_qsl(
            body.decode("utf-8"),
            keep_blank_values=True,
            max_num_fields=_MAX_FIELDS,
            errors="strict",
        )
    except ValueError:
        return {}
    return dict(pairs)
