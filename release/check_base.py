"""Refuse a base image that is not named by its digest: `python -m release.check_base IMAGE`."""

from __future__ import annotations

import re
import sys

_PINNED = re.compile(r"[a-z0-9][\w./:-]*@sha256:[0-9a-f]{64}")


def check_base(image: str) -> None:
    """Leave with an error unless an image is named by its digest."""
    if not _PINNED.fullmatch(image):
        sys.exit(
            f"the base image must be named by its digest, got {image or 'nothing'!r}; `docker buildx"
            " imagetools inspect python:3.11-slim` prints it: BASE=python:3.11-slim@sha256:..."
        )


if __name__ == "__main__":
    check_base(" ".join(sys.argv[1:]))
