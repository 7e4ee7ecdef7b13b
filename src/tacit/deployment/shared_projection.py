"""The projection of image features that the server fits on its public rows, as sites receive it
with the terms of a run.

Sites have no public rows. The projection is fixed before round one, so the digest of the run covers
it: all sites confirm the same one. It is an affine map without any guarantee of its own; a server
that chooses it badly gets a bad model, as with the model's first weights.
"""

from __future__ import annotations

from typing import Annotated

import msgspec
import numpy as np

from tacit.errors import WireError
from tacit.features import Projection
from tacit.plan import Plan

_LARGEST = 1e12
"""Magnitude of an entry: products with image features remain finite in float32."""
_MOST_BYTES = 1 << 28


class ProjectionBody(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, omit_defaults=True
):
    """The centre and then the directions, as rows of little-endian float32."""

    rows: Annotated[int, msgspec.Meta(ge=2, le=100_000)]
    values: Annotated[bytes, msgspec.Meta(min_length=8, max_length=_MOST_BYTES)]

    @staticmethod
    def of(projection: Projection) -> ProjectionBody:
        """Build the body from a projection."""
        both = np.concatenate([projection.centre[None], projection.directions]).astype("<f4")
        return ProjectionBody(rows=len(both), values=both.tobytes())

    def read(self) -> Projection:
        """Build the projection; raise WireError if its entries are not finite numbers of a matrix."""
        if len(self.values) % (4 * self.rows):
            raise WireError(
                f"terms refused: {len(self.values):,} bytes of a projection do not make"
                f" {self.rows:,} rows of numbers"
            )
        both = np.frombuffer(self.values, "<f4").reshape(self.rows, -1)
        if not (np.isfinite(both).all() and np.abs(both).max() <= _LARGEST):
            raise WireError(
                f"terms refused: the projection has entries that are not finite or above {_LARGEST:g}"
            )
        return Projection(centre=both[0].copy(), directions=both[1:].copy())


def check_encoder(agreed: str, own: str) -> None:
    """Raise WireError unless the text encoder of a run's terms is the one of this site."""
    if agreed != own:
        raise WireError(
            f"terms refused: they state a text encoder with the hash {agreed or 'none'}, and this"
            f" site has {own or 'none'}"
        )


def check_projection(plan: Plan, projection: Projection | None, width: int | None) -> None:
    """Raise WireError unless a run's projection is the one that its plan implies: present exactly
    if the plan projects images, with `features.project` directions of `width` numbers.
    """
    wanted = plan.features.project if plan.data.columns.image else None
    got = None if projection is None else projection.width
    if wanted != got:
        raise WireError(
            f"terms refused: the plan has features.project = {wanted}, and the terms have"
            f" {'no projection' if got is None else f'one with {got:,} directions'}"
        )
    if projection is not None and len(projection.centre) != width:
        raise WireError(
            f"terms refused: the projection takes {len(projection.centre):,} numbers, and an image"
            f" has {width or 0:,}"
        )
