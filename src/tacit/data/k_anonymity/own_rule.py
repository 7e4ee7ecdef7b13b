"""A user-defined rule of disclosure: imported and checked when a run starts, and asked which of the
classes that have k rows may be disclosed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import extensions
from tacit.errors import PlanError
from tacit.extensions import Reference
from tacit.plan import RowSharing


@dataclass(frozen=True, kw_only=True)
class CandidateClasses:
    """The equivalence classes that have k rows, as a user-defined rule sees them.

    `by_label` has a row for each class and a column for each label. `everything` counts the rows of
    each label in all counted rows, also those of smaller classes: of one client with local counts,
    else of all clients. `labels` are the names of the labels.
    """

    by_label: NDArray[np.int64]
    everything: NDArray[np.int64]
    labels: tuple[str, ...]


def check_own_sharing_rule(settings: RowSharing | None) -> None:
    """Raise PlanError if a plan names a user-defined rule that cannot be called; a run calls this
    before it reads data. The caller has permission to run the code.
    """
    if settings is not None and settings.own_rule is not None:
        _load.cache_clear()
        _load(settings.own_rule, tuple(settings.rule_settings.items()))


def ask_own_rule(
    settings: RowSharing,
    by_label: NDArray[np.int64],
    everything: NDArray[np.int64],
    labels: Sequence[str],
) -> NDArray[np.bool_]:
    """Find the classes that the user-defined rule allows, among those that have k rows; raise
    PlanError if it returns anything but a boolean per class.
    """
    assert settings.own_rule is not None
    rule = _load(settings.own_rule, tuple(settings.rule_settings.items()))
    allowed = np.asarray(by_label.sum(axis=1) >= settings.rows_alike)
    if not allowed.any():
        return allowed
    given = CandidateClasses(
        by_label=by_label[allowed], everything=everything.copy(), labels=tuple(labels)
    )
    found = np.asarray(rule(given, **settings.rule_settings))
    if found.shape != (len(given.by_label),) or found.dtype != np.bool_:
        raise PlanError(
            f"data.share.rule = {settings.own_rule.path!r} must return one boolean per class, an"
            f" array of shape ({len(given.by_label)},), got {found.dtype} of shape {found.shape}"
        )
    allowed[allowed] = found
    return allowed


@functools.cache  # a file that changes during a run changes nothing
def _load(reference: Reference, settings: tuple[tuple[str, object], ...]) -> Callable[..., Any]:
    return extensions.load_function("data.share.rule", reference, ("classes",), dict(settings))
