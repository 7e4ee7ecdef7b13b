"""A user-defined attack: a function that replaces a corrupted client's honest update in an
experiment.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tacit import extensions
from tacit.errors import PlanError
from tacit.extensions import Reference
from tacit.plan import Corrupt, OwnAttack
from tacit.randomness import Draws
from tacit.rows import Vector


def check_own_attack(settings: Corrupt | None) -> None:
    """Raise PlanError if a plan names a user-defined attack that cannot be called; a run
    calls this before it reads data.
    """
    if isinstance(settings, OwnAttack):
        _load.cache_clear()
        _load(Reference(settings.kind), tuple(settings.settings.items()))


def attack_by_own_code(settings: OwnAttack, honest: Vector, draws: Draws) -> Vector:
    """Compute what a corrupted client sends in place of its honest update.

    Raises PlanError if the function returns anything but one number per parameter. The caller has
    permission to run the code.
    """
    attack = _load(Reference(settings.kind), tuple(settings.settings.items()))
    sent = np.asarray(attack(honest.copy(), draws, **settings.settings), np.float32)
    if sent.shape != honest.shape:
        raise PlanError(
            f"corrupt.kind = {Reference(settings.kind).path!r} must return {len(honest):,} numbers,"
            f" one per parameter, got shape {sent.shape}"
        )
    return sent


@functools.cache  # a file that changes during a run changes nothing
def _load(reference: Reference, settings: tuple[tuple[str, object], ...]) -> Callable[..., Any]:
    return extensions.load_function("corrupt.kind", reference, ("update", "draws"), dict(settings))
