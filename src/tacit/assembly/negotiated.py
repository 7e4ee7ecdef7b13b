"""What clients agreed on before round one and keep from the server: the codec's range, and their
secret.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tacit import codecs, negotiation
from tacit.codecs import Codec
from tacit.errors import PlanError
from tacit.plan import HashComb, Plan


class Held(NamedTuple):
    """The codec's settings as clients hold them, with the range, and the secret they share."""

    settings: HashComb
    secret: bytes

    @property
    def codec(self) -> Codec:
        """Return the codec as clients hold it."""
        return codecs.build(self.settings)


def held(plan: Plan) -> Held | None:
    """Return what the plan's `codec.agreed` holds for the clients; None if nothing was negotiated.

    Raises RunError if the file is not private, whole and of a run of this name, PlanError if it
    fits another plan.
    """
    settings = plan.codec
    if not isinstance(settings, HashComb) or settings.agreed is None:
        return None
    agreed = negotiation.load(Path(settings.agreed), run=plan.name)
    for key in ("levels", "enlargement"):
        if getattr(agreed, key) != getattr(settings, key):
            raise PlanError(
                f"codec.{key}: needs {getattr(agreed, key):g}, as negotiated in {settings.agreed},"
                f" got {getattr(settings, key):g}"
            )
    return Held(
        replace(settings, agreed=None, x_min=agreed.x_min, x_max=agreed.x_max), agreed.secret
    )
