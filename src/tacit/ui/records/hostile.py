"""Records with values that no run writes, such as text in place of a number. Such a record hides no
other run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tacit.errors import RunError

_SHAPES = (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, AssertionError)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Raise RunError in place of the errors that values of a wrong kind cause."""
    try:
        yield
    except _SHAPES as error:
        raise RunError(
            f"{name}: the record has values that no run writes ({type(error).__name__}), so it is not"
            " shown"
        ) from error
