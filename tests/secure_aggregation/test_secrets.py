"""Nothing that passes through the leader is a expand_mask's seed, and no noise is added in two rounds."""

import numpy as np
import pytest

from tacit.codecs.distributions.gaussian_noise import draw_gaussian
from tacit.secure_aggregation import derive_round_secrets
from tacit.secure_aggregation.shares import expand_mask
from tests.secure_aggregation.parties import (
    answered,
    helper,
    keys_of,
    leader_with,
    numbers_of,
    terms_for,
)


@pytest.mark.parametrize("helpers", [1, 2])
def test_nothing_in_an_envelope_takes_a_mask_off(helpers) -> None:
    """The leader tries every 32 bytes it passes on as a seed, and every two of the tokens, where two masks are on."""
    terms, numbers = terms_for(helpers=helpers), numbers_of(1, terms_for())
    share, envelope = answered(terms, 1, 1, numbers)
    windows = [envelope[start : start + 32] for start in range(len(envelope) - 31)]
    masks = {window: expand_mask(window, terms.size, terms.bits) for window in windows}
    tokens = [envelope[-32 * number :][:32] for number in range(1, helpers + 1)]
    tried = [*masks.values(), sum((masks[token] for token in tokens), np.zeros_like(share))]
    for found in tried:
        assert not np.array_equal(share + found, numbers)
        assert not np.array_equal(share - found, numbers)


def test_a_token_is_no_seed_and_neither_is_that_of_another_round_sum_or_salt() -> None:
    terms, key = terms_for(), keys_of(1)[0]
    made = [
        derive_round_secrets(one, key, round_no, salt)
        for one in (terms, terms_for(size=51))
        for round_no in (1, 2)
        for salt in (b"a", b"b")
    ]
    words = [word for one in made for word in one]
    assert len(set(words)) == len(words) == 16
    assert all(len(word) == 32 for word in words)


@pytest.mark.parametrize("simulated", [False, True])
def test_a_helper_adds_other_noise_in_every_round(simulated, tmp_path) -> None:
    """The same noise in two rounds cancels in their difference: what is left are the updates' changes, without any."""
    terms, drawn = terms_for(), []

    def noise(own) -> np.ndarray:
        drawn.append(draw_gaussian(own, terms.size) >> 10)
        return drawn[-1]

    asked = helper(terms, noise=noise, path=tmp_path / "train.safetensors", simulated=simulated)
    for round_no in (1, 2, 3):
        leader_with(terms, round_no=round_no).asks(asked)
    assert len(drawn) == 3
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert (drawn[one] == drawn[other]).mean() < 0.2, (
            f"rounds {one + 1} and {other + 1} have the same noise"
        )


def test_helpers_do_not_share_noise() -> None:
    terms, drawn = terms_for(helpers=2), []

    def noise(own) -> np.ndarray:
        drawn.append(draw_gaussian(own, terms.size) >> 10)
        return drawn[-1]

    leader = leader_with(terms)
    for number in (1, 2):
        leader.asks(helper(terms, number, noise, simulated=True))
    assert (drawn[0] == drawn[1]).mean() < 0.2
