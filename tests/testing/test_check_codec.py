"""`check_codec` takes sound codecs, and names the check that a broken one fails."""

from dataclasses import replace

import numpy as np
import pytest

from tacit import codecs, plan
from tacit.codecs.sums import BitSum, FloatSum
from tacit.privacy.claim import Pure
from tacit.randomness import ClientDraws
from tacit.testing import CHECKS, LawError, Subject, check_codec

CLIP = 0.1
RR = codecs.build(plan.RR(epsilon=1.0, clip=CLIP))
PLAIN = codecs.build(plan.Plain())
EXTENT = codecs.Extent(rounds=1, cohort=1)


def with_public_noise() -> codecs.Codec:
    def encoder(update, memory, *, own, public):
        return RR.encoder(update, memory, own=ClientDraws(public.key, public.path), public=public)

    return replace(RR, encoder=encoder)


def with_public_decoder_noise() -> codecs.Codec:
    sound = codecs.build(plan.DPSum(epsilon=2.0, delta=1e-3, clip=CLIP), EXTENT)

    def decoder(total, *, public, own):
        return sound.decoder(total, public=public, own=type(own)(public.key, public.path))

    return replace(sound, decoder=decoder)


def with_too_little_epsilon() -> codecs.Codec:
    def claims(dim, cohort):
        return tuple(replace(one, event=Pure(0.2)) for one in RR.claims(dim, cohort))

    return replace(RR, claims=claims)


def with_server_noise_that_trusts_nobody() -> codecs.Codec:
    sound = codecs.build(plan.DPSum(epsilon=2.0, delta=1e-3, clip=CLIP), EXTENT)

    def claims(dim, cohort):
        return tuple(
            replace(one, rests_on="nobody", trust=("nobody",)) for one in sound.claims(dim, cohort)
        )

    return replace(sound, claims=claims)


class ForgetfulSum(BitSum):
    def merge(self, other):
        self.weight += other.weight


class CredulousSum(FloatSum):
    def add(self, payload, weight, public):
        row = np.frombuffer(payload, np.float32).astype(np.float64) * weight
        self._sum = row if self._sum is None else self._sum + row
        self.weight += weight


class StumblingSum(BitSum):
    def add_packed(self, payload, weight):
        if len(payload) != len(self.pack()):
            raise ValueError("wrong size")
        super().add_packed(payload, weight)


BROKEN = {
    "client_noise_is_secret": with_public_noise,
    "decoder_noise_is_secret": with_public_decoder_noise,
    "epsilon": with_too_little_epsilon,
    "trust": with_server_noise_that_trusts_nobody,
    "merging": lambda: replace(RR, empty=ForgetfulSum),
    "extreme_numbers": lambda: replace(PLAIN, empty=CredulousSum),
    "sizes": lambda: replace(RR, empty=StumblingSum),
    "repeatable": lambda: replace(RR, variance=lambda update: np.zeros(len(update))),
    "any_update": lambda: replace(RR, payload_size=lambda dim: dim),
    "unbiased": lambda: replace(RR, clip_update=lambda update: update),
}


@pytest.mark.parametrize("codec", [RR, PLAIN], ids=lambda one: one.name)
def test_a_sound_codec_passes(codec) -> None:
    check_codec(codec, scale=CLIP)


def test_a_codec_that_depends_on_the_run_is_given_as_a_function() -> None:
    settings = plan.DPSum(epsilon=2.0, delta=1e-3, clip=CLIP)
    check_codec(lambda extent: codecs.build(settings, extent), scale=CLIP)


@pytest.mark.parametrize("check", BROKEN)
def test_a_broken_codec_is_caught_by_the_check_of_its_name(check) -> None:
    broken = BROKEN[check]()
    with pytest.raises(LawError):
        CHECKS[check](subject(broken))
    with pytest.raises(LawError, match=rf"codec '{broken.name}' fails the check '"):
        check_codec(broken, scale=CLIP)


def subject(codec):
    return Subject(lambda extent: codec, CLIP)
