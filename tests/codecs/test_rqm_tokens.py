"""Randomised levels under tokens: the same mean and claims as without, and nothing readable without the secret."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from tacit import codecs, plan
from tacit.errors import RunError, WireError
from tests import seeds
from tests.roles import decode, encode

SECRET = seeds.generator(0).bytes(16)
ROOT = seeds.draws(0)
BARE = plan.RQM(clip=0.1, margin=0.1, levels=11, keep=0.5)
UPDATES = np.random.default_rng(0).uniform(-0.1, 0.1, (4, 700)).astype(np.float32)


def total_of(sender: codecs.Codec, total: codecs.Sum, weights: list[int]) -> codecs.Sum:
    for n, (update, weight) in enumerate(zip(UPDATES, weights, strict=True)):
        total.add(encode(sender, update, ROOT.at(n), ROOT).payload, weight, ROOT)
    return total


@pytest.mark.parametrize("weights", [[1, 1, 1, 1], [1, 5, 2, 5]])
def test_clients_read_exactly_what_the_server_reads_without_tokens(weights) -> None:
    bare, made = codecs.build(BARE), codecs.build(replace(BARE, tokens=True))
    client, back = made.keyed(SECRET, 3), made.empty(700)
    back.add_packed(total_of(client, made.empty(700), weights).pack(), sum(weights))
    expected = decode(bare, total_of(bare, bare.empty(700), weights), ROOT, ROOT)
    np.testing.assert_array_equal(decode(client, back, ROOT, ROOT), expected)
    assert made.payload_size(700) == bare.payload_size(700)
    other = decode(made.keyed(SECRET[::-1], 3), back, ROOT, ROOT)
    assert abs(np.corrcoef(other, expected)[0, 1]) < 0.2


@pytest.mark.statistical
def test_a_token_says_nothing_about_its_level() -> None:
    """20,000 coordinates with the same level: tokens are uniform; both checks together fail by chance with 8e-7."""
    made = codecs.build(replace(BARE, tokens=True)).keyed(SECRET, 1)
    one = codecs.build(BARE)
    update = np.full(20_000, 0.1, np.float32)
    levels, tokens = one.empty(20_000), codecs.build(replace(BARE, tokens=True)).empty(20_000)
    levels.add(encode(one, update, ROOT, ROOT).payload, 1, ROOT)
    tokens.add(encode(made, update, ROOT, ROOT).payload, 1, ROOT)
    counts = np.bincount(tokens.value()[0][0], minlength=11)
    assert np.bincount((levels.value() + 10) // 2, minlength=11).max() > 2 * 20_000 / 11, (
        "levels themselves are uneven"
    )
    expected = 20_000 / 11
    assert ((counts - expected) ** 2 / expected).sum() < chi2.isf(3e-7, 10)
    assert abs(
        np.corrcoef(tokens.value()[0][0], levels.value())[0, 1]
    ) < seeds.deviations() / np.sqrt(20_000)


def test_claims_are_those_without_tokens_and_the_server_can_do_nothing() -> None:
    bare, made = codecs.build(BARE), codecs.build(replace(BARE, tokens=True))
    (without,), (under,) = bare.claims(700, 4), made.claims(700, 4)
    assert replace(under, mechanism=without.mechanism) == without
    assert "only equality" in under.mechanism
    with pytest.raises(RunError, match="cannot encode or decode without the clients' secret"):
        encode(made, UPDATES[0], ROOT, ROOT)
    with pytest.raises(WireError, match="it contains token 15; tokens are 0 to 10"):
        made.empty(2).add(np.array([0xFF], np.uint8), 1, ROOT)
