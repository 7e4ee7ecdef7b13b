"""`check_codec`: every law that Tacit's own codecs obey, for a user-defined codec."""

from __future__ import annotations

from collections.abc import Callable

from tacit.codecs import Codec, Extent
from tacit.testing import claims, hostile, messages, randomness
from tacit.testing.subject import LawError, Subject

CHECKS: dict[str, Callable[[Subject], None]] = {
    "unbiased": messages.check_unbiased,
    "repeatable": messages.check_repeatable,
    "untouched": messages.check_untouched,
    "any_update": messages.check_any_update,
    "merging": messages.check_merging,
    "packing": messages.check_packing,
    "integer_sums": messages.check_integer_sums,
    "draws_are_typed": randomness.check_draws_are_typed,
    "client_noise_is_secret": randomness.check_client_noise_is_secret,
    "decoder_noise_is_secret": randomness.check_decoder_noise_is_secret,
    "sizes": hostile.check_sizes,
    "weights": hostile.check_weights,
    "other_coordinates": hostile.check_other_coordinates,
    "empty_sum": hostile.check_empty_sum,
    "extreme_numbers": hostile.check_extreme_numbers,
    "any_bytes": hostile.check_any_bytes,
    "trust": claims.check_trust,
    "epsilon": claims.check_epsilon,
}
"""The checks by name, in the order in which `check_codec` runs them."""


def check_codec(codec: Codec | Callable[[Extent], Codec], *, scale: float = 1.0) -> None:
    """Check that a codec obeys every law; raise LawError that names the first check it fails.

    `codec` is a codec, or a function that builds it for the extent of a run, which a codec needs
    whose noise depends on the number of rounds or clients. `scale` is the size of the coordinates
    that are encoded: take the codec's clip. Passing is evidence, not proof: the check of epsilon
    finds gross errors only.

    Example: `check_codec(make(Settings(clip=0.1)), scale=0.1)`.
    """
    build = _always(codec) if isinstance(codec, Codec) else codec
    subject = Subject(build, scale)
    name = subject.at_client().name
    for check, run in CHECKS.items():
        try:
            run(subject)
        except LawError as error:
            raise LawError(f"codec {name!r} fails the check {check!r}: {error}") from error
        except Exception as error:
            raise LawError(f"codec {name!r} fails the check {check!r} with {error!r}") from error


def _always(codec: Codec) -> Callable[[Extent], Codec]:
    def build(extent: Extent) -> Codec:
        return codec

    return build
