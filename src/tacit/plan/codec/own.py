"""A user-defined codec."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, ClassVar

from pydantic.dataclasses import dataclass

from tacit.plan.kinds import OWN, STRICT, Name, Needs, Own, Setting


@dataclass(frozen=True, kw_only=True, config=STRICT)
class OwnCodec:
    """Your own codec, a `tacit.codecs.OwnMechanism`."""

    adds_up: ClassVar[bool] = True  # whether it does is read from the codec, when it is built
    name: Annotated[str, Own("codecs"), Needs(f"a codec as {OWN}")]
    """A codec as `package.module:name`, in an installed package or in a folder of PYTHONPATH, or an
    entry point of the group `tacit.codecs` ([extend.md](guides/extend.md)). With `@sha256:` and the
    SHA-256 of its file at the end, other code is refused; a run writes it into its own plan.
    """
    settings: dict[Name, Setting] = field(default_factory=dict)
    """Settings of the codec, as its own table defines them; checked before any data is read."""
