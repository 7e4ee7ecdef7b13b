"""What the estimators refuse: errors of Tacit that scikit-learn's tools also know as ValueError,
TypeError or NotFittedError.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import NotFittedError

from tacit.errors import DataError, RunError


class EstimatorValueError(DataError, ValueError):
    """Rows, labels or a parameter that cannot be used."""


class EstimatorTypeError(DataError, TypeError):
    """Rows, labels or a parameter of a wrong type."""


class EstimatorNotFittedError(RunError, NotFittedError):  # type: ignore[misc]
    """Used before `fit`."""


@contextmanager
def translate_errors(call: str) -> Iterator[None]:
    """Turn what scikit-learn and numpy raise about arguments into Tacit's own errors; a cell of
    data is never quoted.
    """
    try:
        yield
    except (DataError, RunError):
        raise
    except NotFittedError as error:
        raise EstimatorNotFittedError(f"{call}: {error}") from None
    except ValueError as error:
        raise EstimatorValueError(f"{call}: {_drop_cells(str(error))}") from None
    except TypeError as error:
        raise EstimatorTypeError(f"{call}: {_drop_cells(str(error))}") from None


def _drop_cells(message: str) -> str:
    """Leave out what numpy quotes of a cell."""
    head, found, _ = message.partition("could not convert string to float")
    return (
        f"{head}{found}; X needs numbers: tacit.HashedText makes numbers of texts"
        if found
        else message
    )
