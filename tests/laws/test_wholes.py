"""Codecs that fit a secure sum: their messages add up as whole numbers modulo 2^bits to what the codec itself adds up."""

import numpy as np
import pytest

from tacit import codecs
from tacit.randomness import Draws
from tests import seeds
from tests.laws.codec_cases import ALL, ROUNDS, label
from tests.roles import decode

CLIENTS = 9


def under_helpers(case, helpers: int) -> codecs.Codec:
    return codecs.build(case, codecs.Extent(rounds=ROUNDS, cohort=CLIENTS, helpers=helpers))


FIT = [case for case in ALL if under_helpers(case, 1).integers is not None]


def test_some_codecs_fit() -> None:
    assert {case.name for case in FIT} >= {"dp_sum", "rr"}


@pytest.mark.statistical
@pytest.mark.parametrize(
    "case", [case for case in FIT if under_helpers(case, 2).integers.noise], ids=label
)
def test_noise_of_all_helpers_is_what_the_codec_says_and_is_centred(case) -> None:
    """20,000 numbers; their mean or spread is off by more with a probability of 5e-7."""
    dim = 20_000
    made = under_helpers(case, 2)
    noise = sum(made.integers.noise(dim, seeds.draws(7).at(n)) for n in range(2))
    found = (
        decode(
            made, made.integers.build_sum(noise, CLIENTS), Draws.seeded(1), Draws.seeded(2)
        ).astype(np.float64)
        * CLIENTS
    )
    off = seeds.deviations(2) / np.sqrt(dim)
    assert abs(found.mean()) < off * made.sum_noise(dim)
    assert found.std() == pytest.approx(made.sum_noise(dim), rel=off / np.sqrt(2))


@pytest.mark.parametrize("case", FIT, ids=label)
def test_each_helper_alone_keeps_what_is_claimed_without_helpers(case) -> None:
    plain, shared = (
        codecs.build(case, codecs.Extent(rounds=ROUNDS, cohort=CLIENTS)),
        under_helpers(case, 2),
    )
    for before, after in zip(plain.claims(50, CLIENTS), shared.claims(50, CLIENTS), strict=True):
        kept, now = (getattr(claim.event, "noise_multiplier", None) for claim in (before, after))
        assert (after.event == before.event) if kept is None else kept <= now <= kept * 1.02
