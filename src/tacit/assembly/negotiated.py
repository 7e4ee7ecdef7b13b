"""What clients negotiated before round one and keep from the server: the codec's range and their
secret.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from tacit import codecs
from tacit.codecs import Codec
from tacit.errors import PlanError
from tacit.plan import HashComb, Plan


class NegotiatedCodec(NamedTuple):
    """The codec's settings with the negotiated range, and the secret that clients share."""

    settings: HashComb
    secret: bytes

    @property
    def codec(self) -> Codec:
        """The codec as clients use it."""
        return codecs.build(self.settings)


def read_negotiated(plan: Plan) -> NegotiatedCodec:
    """Read the file that the plan's `codec.agreed` names (`Plan.negotiated_file`).

    Raises RunError if the file is not private, is damaged or belongs to a run of another name, and
    PlanError if it was negotiated for other codec settings.
    """
    settings = plan.codec
    assert isinstance(settings, HashComb)
    assert settings.agreed is not None
    from tacit import negotiation

    agreed = negotiation.load(Path(settings.agreed), run=plan.name)
    for key in ("levels", "enlargement"):
        if getattr(agreed, key) != getattr(settings, key):
            raise PlanError(
                f"codec.{key} = {getattr(settings, key):g}, but {settings.agreed} was negotiated "
                f"with {getattr(agreed, key):g}; set it to that value or negotiate again"
            )
    return NegotiatedCodec(
        replace(settings, agreed=None, x_min=agreed.x_min, x_max=agreed.x_max), agreed.secret
    )
