"""A user-defined data set: a function without arguments that returns rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tacit import extensions
from tacit.data.download.store import list_data_sets
from tacit.errors import PlanError
from tacit.extensions import Reference
from tacit.plan import Data


def check_own_data_set(data: Data) -> None:
    """Raise PlanError if a plan names a user-defined data set that cannot be called; a run
    calls this before it reads data.
    """
    if isinstance(data.source, Reference):
        _load(data.source)


def read_own_data_set(source: Reference) -> object:
    """Call the function that a plan names as its data set.

    The caller has permission to run the code.
    """
    return _load(source)()


def _load(source: Reference) -> Callable[[], Any]:
    for name, reference in extensions.find_entry_points("datasets").items():
        if reference.path == source.path and name in {one.name for one in list_data_sets()}:
            raise PlanError(
                f"data.source: an installed package has an entry point {name!r} in the group"
                " tacit.datasets, which is the name of a data set of Tacit; rename the entry point,"
                " or remove that package"
            )
    return extensions.load_function("data.source", source, (), {})
