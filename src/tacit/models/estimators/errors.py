"""Errors of the estimators: errors of Tacit that scikit-learn's tools also recognise as ValueError,
TypeError or NotFittedError.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sklearn.exceptions import NotFittedError

from tacit.errors import DataError, PlanError, RunError


class EstimatorValueError(DataError, ValueError):
    """Rows, labels or a parameter with an invalid value."""


class EstimatorPlanError(PlanError, ValueError):
    """A parameter of the estimator that no plan can have."""


class EstimatorTypeError(DataError, TypeError):
    """Rows, labels or a parameter of the wrong type."""


class EstimatorNotFittedError(RunError, NotFittedError):  # type: ignore[misc]
    """The estimator was used before `fit`."""


@contextmanager
def translate_errors(call: str) -> Iterator[None]:
    """Turn argument errors of scikit-learn and numpy into Tacit's own; a cell of data is never
    quoted.
    """
    try:
        yield
    except (DataError, RunError):
        raise
    except PlanError as error:
        raise EstimatorPlanError(str(error)) from None
    except NotFittedError as error:
        raise EstimatorNotFittedError(f"{call}: {error}") from None
    except ValueError as error:
        raise EstimatorValueError(f"{call}: {_drop_cells(str(error))}") from None
    except TypeError as error:
        raise EstimatorTypeError(f"{call}: {_drop_cells(str(error))}") from None


def _drop_cells(message: str) -> str:
    """Remove the cell that numpy quotes."""
    head, found, _ = message.partition("could not convert string to float")
    return (
        f"{head}{found}; X must be numeric: tacit.HashedText turns texts into numbers"
        if found
        else message
    )
