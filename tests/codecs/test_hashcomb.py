"""Quantised updates under keyed tokens: error of the quantiser, the solver, sizes, and what a server without the secret sees."""

import gc
import hmac
import types
from pathlib import Path

import numpy as np
import pytest

from tacit import codecs, plan
from tacit.codecs.hashcomb import (
    KeyedTokens,
    PaperTokens,
    Quantiser,
    compute_mean_level,
    derive_round_key,
    draw_levels,
    find_head_probability,
)
from tacit.codecs.sums.tokens import TokenCounts
from tacit.errors import PlanError, RunError, WireError
from tacit.privacy.claim import Open
from tacit.randomness import Draws
from tests import seeds
from tests.roles import decode, encode

SECRET = bytes.fromhex("00112233445566778899aabbccddeeff")
ROOT = Draws.seeded(0)


def settings(**changes: object) -> plan.HashComb:
    return plan.HashComb(**{"x_min": -0.2, "x_max": 0.2, **changes})


def revealed(tokens: KeyedTokens | PaperTokens, sent: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Return the channels of tokens, one row per message."""
    names, numbers = np.unique(sent, return_inverse=True)
    static = isinstance(tokens, PaperTokens)
    counted = TokenCounts(
        numbers.reshape(sent.shape) if static else sent,
        np.array([1]),
        names[:, None].astype(np.uint64) if static else None,
    )
    return np.concatenate([channels for _, channels in tokens.reveal(counted, level)], axis=1)


@pytest.mark.parametrize(("levels", "rms"), [(4, 0.0126), (6, 0.0032), (8, 0.00079), (10, 0.0002)])
def test_the_error_of_uniform_values_is_that_of_the_channel_width(levels, rms) -> None:
    quantiser = Quantiser(-0.35, 0.35, levels)
    values = np.random.default_rng(levels).uniform(-0.35, 0.35, 200_000).astype(np.float32)
    level = np.full(len(values), levels, np.uint8)
    error = quantiser.middles(quantiser.channels(values, level), level) - values
    width = float(quantiser.width(levels))
    assert np.sqrt(np.mean(error**2)) == pytest.approx(width / np.sqrt(12), rel=0.01)
    assert np.sqrt(np.mean(error**2)) == pytest.approx(rms, rel=0.03)
    assert np.abs(error).max() <= width / 2 + 1e-7
    assert quantiser.width(8) == pytest.approx(0.002734, abs=1e-6)


def test_channels_are_closed_below_and_values_outside_are_clamped() -> None:
    quantiser = Quantiser(-1.0, 1.0, 2)
    values = np.array([-9, -1, -0.5, 0, 0.49, 0.5, 1, np.inf, -np.inf, np.nan], np.float32)
    assert quantiser.channels(values, np.full(10, 2, np.uint8)).tolist() == [
        0,
        0,
        1,
        2,
        2,
        3,
        3,
        3,
        0,
        2,
    ]
    assert quantiser.middles(np.uint32([0, 3]), np.uint8([2, 2])).tolist() == [-0.75, 0.75]
    assert quantiser.middles(np.uint32([0]), np.uint8([0])).tolist() == [0.0], (
        "level 0 says nothing"
    )
    assert Quantiser.enlarged(-0.2, 0.1, 2.0, 3) == Quantiser(-0.30000000000000004, 0.2, 3)


HASHCOMB_PAGE = (
    Path(__file__).parents[2] / "docs" / "concepts" / "mechanisms" / "hashcomb-tokens.md"
)
RANGES = [(-0.3, 0.3), (-0.15, 0.3), (0.0, 0.7), (-0.7, 0.0), (-1e-6, 0.4)]


@pytest.mark.parametrize(("low", "high"), RANGES)
@pytest.mark.parametrize("levels", [1, 2, 5, 8, 16])
def test_centred_channels_read_no_change_exactly_and_miss_by_half_a_channel_at_most(
    low, high, levels
) -> None:
    quantiser = Quantiser(low, high, levels, centred=True)
    for one in range(levels + 1):
        level = np.full(3000, one, np.uint8)
        values = np.linspace(low, high, 3000, dtype=np.float64).astype(np.float32)
        assert not quantiser.middles(
            quantiser.channels(np.zeros(3000, np.float32), level), level
        ).any()
        channels = quantiser.channels(values, level)
        read = quantiser.middles(channels, level)
        assert (
            np.abs(read - values).max() <= quantiser.width(one) / 2 * (1 + 1e-6) + 1e-7 or one == 0
        )
        assert channels.max() < 1 << one
        np.testing.assert_array_equal(quantiser.channels(read.astype(np.float32), level), channels)


def test_parameters_nobody_changed_stay_exactly_as_they_are() -> None:
    for selection, mean in (("finest", None), ("last_head", 3.0), ("subset", 3.0)):
        made = codecs.build(settings(x_min=-0.13, levels=6, selection=selection, mean_level=mean))
        total = made.empty(500)
        for _ in range(3):
            total.add(
                encode(made.keyed(SECRET, 2), np.zeros(500, np.float32), ROOT, ROOT).payload,
                2,
                ROOT,
            )
        assert not decode(made.keyed(SECRET, 2), total, ROOT, ROOT).any()


TABLE = {
    9: (0.4995, 0.4953, 0.889), 10: (0.3292, 0.3063, 0.800), 12: (0.1863, 0.1228, 0.667), 14: (0.1229, 0.0304, 0.571),
    16: (0.0878, None, 0.500), 20: (0.0517, None, 0.400), 24: (0.0341, None, 0.333), 32: (0.0181, None, 0.250),
}  # fmt: skip


@pytest.mark.parametrize("levels", TABLE)
def test_the_solver_gives_the_head_chance_for_a_mean_level_of_eight(levels) -> None:
    once, again, subset = TABLE[levels]
    assert find_head_probability("last_head", levels, 8.0) == pytest.approx(once, abs=5.1e-5)
    assert find_head_probability("subset", levels, 8.0) == pytest.approx(subset, abs=5.1e-4)
    if again is None:
        with pytest.raises(PlanError, match="cannot be reached"):
            find_head_probability("last_head", levels, 8.0, toss_again=True)
    else:
        assert find_head_probability("last_head", levels, 8.0, toss_again=True) == pytest.approx(
            again, abs=5.1e-5
        )


@pytest.mark.statistical
@pytest.mark.parametrize("selection", ["last_head", "subset"])
@pytest.mark.parametrize("levels", [9, 12, 16])
def test_drawn_levels_have_the_wanted_mean(selection, levels) -> None:
    """200,000 levels, whose mean is off by more with a probability of 5e-7."""
    chance = find_head_probability(selection, levels, 8.0)
    assert compute_mean_level(selection, levels, chance) == pytest.approx(8.0, abs=1e-6)
    level = draw_levels(selection, levels, chance, 200_000, seeds.draws(0))
    assert level.mean() == pytest.approx(
        8.0, abs=seeds.deviations() * level.std() / np.sqrt(len(level))
    )
    assert level.max() <= levels


@pytest.mark.parametrize("levels", range(4, 11))
def test_a_parameter_costs_as_many_bits_as_documented(levels) -> None:
    """One token: `levels` bits if keyed, else its length; a path: the sum over its levels. The table is on the page of the mechanism."""
    dim, bytes_each = 6571, []
    for bits, tokens in (
        (None, {}),
        (28, {"tokens": "paper"}),
        (128, {"tokens": "paper", "token_bits": 128}),
    ):
        for path in (False, True):
            made = codecs.build(settings(levels=levels, path=path, **tokens))
            widths = [bits or place for place in (range(1, levels + 1) if path else [levels])]
            sent = encode(made.keyed(SECRET, 1), np.zeros(dim, np.float32), ROOT, ROOT).payload
            assert (
                sent.nbytes
                == made.payload_size(dim)
                == sum(-(-dim * width // 8) for width in widths)
            )
            bytes_each.append(f"{sum(widths) / 8:g}")
    assert f"| {levels} | {' | '.join(bytes_each)} |" in HASHCOMB_PAGE.read_text(encoding="utf-8")


def test_a_path_decodes_to_what_its_deepest_token_says() -> None:
    updates = np.random.default_rng(3).uniform(-0.2, 0.2, (3, 400)).astype(np.float32)
    for more in (
        {},
        {"tokens": "paper"},
        {"selection": "subset", "mean_level": 3.0},
        {"of": "weights"},
    ):
        means = []
        for path in (False, True):
            made = codecs.build(settings(levels=6, path=path, **more))
            client, total, back = made.keyed(SECRET, 3), made.empty(400), made.empty(400)
            for update in updates:
                total.add(encode(client, update, ROOT, ROOT).payload, 2, ROOT)
            back.add_packed(total.pack(), 6)
            means.append(decode(client, back, ROOT, ROOT))
            for bad in (
                total.pack()[:-1],
                total.pack()[:5],
                np.append(total.pack(), np.uint8(0)),
            ):
                with pytest.raises(WireError, match="histogram refused"):
                    made.empty(400).add_packed(bad, 6)
        np.testing.assert_allclose(*means, rtol=1e-6, atol=1e-9)  # sums in the order of tokens


def test_hashes_give_tokens_of_the_stated_length() -> None:
    quantiser = Quantiser(-0.35, 0.35, 3)
    for kind, digest in (("sha256", "sha256"), ("sha3", "sha3_256")):
        name = quantiser.node(3, 5).encode()
        for bits in (28, 128):
            expected = int.from_bytes(hmac.digest(SECRET, name, digest), "little") % (1 << bits)
            token = PaperTokens(quantiser, SECRET, bits, kind).hide(np.uint32([5]), np.uint8([3]))
            assert int.from_bytes(token.tobytes(), "little") == expected
    assert derive_round_key(SECRET, 1) != derive_round_key(SECRET, 1, "sha3")


def test_keyed_tokens_are_permutations_that_differ_by_coordinate_round_and_secret() -> None:
    level = np.full(400, 6, np.uint8)
    tables = {}
    for name, key in {
        "one": derive_round_key(SECRET, 1),
        "two": derive_round_key(SECRET, 2),
        "other": derive_round_key(SECRET[::-1], 1),
    }.items():
        tokens = KeyedTokens(key, 6)
        tables[name] = np.stack(
            [tokens.hide(np.full(400, channel, np.uint32), level) for channel in range(64)]
        )
        assert (np.sort(tables[name], axis=0) == np.arange(64)[:, None]).all()
        np.testing.assert_array_equal(
            revealed(tokens, tables[name], level), np.arange(64)[:, None] * np.ones(400, int)
        )
    for name in ("two", "other"):
        assert np.mean(tables["one"] == tables[name]) == pytest.approx(1 / 64, abs=0.005)
    assert len({column.tobytes() for column in tables["one"].T}) == 400


def test_keyed_tokens_of_neighbours_are_no_nearer_than_others() -> None:
    """Over 20,000 coordinates: the token of a channel, and the difference of two, follow the law of a uniform permutation."""
    level = np.full(20_000, 3, np.uint8)
    tokens = KeyedTokens(derive_round_key(SECRET, 5), 3)
    three = [
        tokens.hide(np.full(20_000, channel, np.uint32), level).astype(np.int64)
        for channel in (2, 3, 7)
    ]
    triples = np.bincount((three[0] * 8 + three[1]) * 8 + three[2], minlength=512)
    possible = triples[triples > 0]
    assert len(possible) == 8 * 7 * 6, "every triple of different tokens, and no other"
    expected = 20_000 / 336
    assert ((possible - expected) ** 2 / expected).sum() < 335 + 6 * np.sqrt(2 * 335)


def test_permutations_that_are_kept_are_those_that_would_be_made(monkeypatch) -> None:
    channels, level = np.arange(5_000, dtype=np.uint32) % 256, np.full(5_000, 8, np.uint8)
    kept = [KeyedTokens(derive_round_key(SECRET, 9), 8).hide(channels, level) for _ in range(2)]
    monkeypatch.setattr("tacit.codecs.hashcomb.tokens._KEPT", 0)
    made = KeyedTokens(derive_round_key(SECRET, 9), 8).hide(channels, level)
    assert all(np.array_equal(one, made) for one in kept)


def test_paper_tokens_are_static_short_and_found_without_a_secret() -> None:
    quantiser = Quantiser(-0.35, 0.35, 8)
    assert quantiser.node(1, 0) == "1[-0.35  0.0]"
    open_tokens, level = PaperTokens(quantiser), np.full(256, 8, np.uint8)
    tokens = open_tokens.hide(np.arange(256, dtype=np.uint32), level)
    assert tokens.max() < 1 << 28
    assert revealed(PaperTokens(quantiser), tokens[None], level).tolist() == [list(range(256))]
    hidden = PaperTokens(quantiser, SECRET).hide(np.arange(256, dtype=np.uint32), level)
    with pytest.raises(WireError, match="a token of no agreed channel"):
        revealed(open_tokens, hidden[None], level)


def test_a_token_of_no_channel_is_noticed() -> None:
    tokens, level = KeyedTokens(derive_round_key(SECRET, 1), 4), np.array([2, 4], np.uint8)
    beyond = tokens.hide(np.array([5, 5], np.uint32), level)
    with pytest.raises(WireError, match="a token that no client of this round can have sent"):
        revealed(tokens, beyond[None], level)


@pytest.mark.parametrize("weights", [[3, 3, 3], [1, 2, 300]])
def test_the_histogram_forgets_the_order_of_clients_and_decodes_to_the_weighted_mean(
    weights,
) -> None:
    made = codecs.build(settings(levels=5))
    client = made.keyed(SECRET, 4)
    updates = np.random.default_rng(0).uniform(-0.2, 0.2, (3, 50)).astype(np.float32)
    totals = [made.empty(50), made.empty(50)]
    for total, order in zip(totals, ([0, 1, 2], [2, 0, 1]), strict=True):
        for n in order:
            total.add(encode(client, updates[n], ROOT, ROOT).payload, weights[n], ROOT)
    assert totals[0].pack().tobytes() == totals[1].pack().tobytes()
    returned = made.empty(50)
    returned.add_packed(totals[0].pack(), sum(weights))
    mean = decode(client, returned, ROOT, ROOT)
    np.testing.assert_allclose(
        mean, np.average(updates, axis=0, weights=weights), atol=0.6 / (2**5 - 1) / 2 + 1e-6
    )
    wrong = decode(made.keyed(SECRET[::-1], 4), returned, ROOT, ROOT)
    assert abs(np.corrcoef(wrong, mean)[0, 1]) < 0.5


def test_a_histogram_that_does_not_add_up_is_refused() -> None:
    made = codecs.build(settings(levels=5))
    total = made.empty(9)
    for weight in (1, 4):
        total.add(
            encode(made.keyed(SECRET, 1), np.full(9, weight / 50, np.float32), ROOT, ROOT).payload,
            weight,
            ROOT,
        )
    good = total.pack()
    for bad, weight in (
        (good, 6),
        (good[:-1], 5),
        (good[:0], 5),
        (np.concatenate([[np.uint8(3)], good[1:]]), 5),
    ):
        with pytest.raises(WireError, match="histogram refused"):
            made.empty(9).add_packed(bad, weight)


def held_by(thing: object) -> list[bytes]:
    """Return all bytes that can be reached from an object without leaving for modules, classes or globals."""
    seen, waiting, found = set(), [thing], []
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, types.ModuleType | type):
            continue
        seen.add(id(one))
        if isinstance(one, bytes | bytearray):
            found.append(bytes(one))
        if isinstance(one, types.FunctionType):
            waiting += [cell.cell_contents for cell in one.__closure__ or ()]
            continue
        waiting += gc.get_referents(one)
    return found


def test_what_the_server_holds_has_no_secret_and_cannot_read() -> None:
    made = codecs.build(settings(levels=5))
    client = made.keyed(SECRET, 1)
    total = made.empty(9)
    total.add(encode(client, np.zeros(9, np.float32), ROOT, ROOT).payload, 1, ROOT)
    derived = derive_round_key(SECRET, 1).key
    assert derived in held_by(client), "the search finds it where it is"
    assert not {SECRET, derived} & set(held_by(made) + held_by(total))
    for refused in (
        lambda: decode(made, total, ROOT, ROOT),
        lambda: encode(made, np.zeros(9, np.float32), ROOT, ROOT),
    ):
        with pytest.raises(RunError, match="cannot encode or decode without the clients' secret"):
            refused()


def test_the_claim_promises_nothing_it_cannot_keep() -> None:
    (claim,) = codecs.build(settings()).claims(100, 4)
    assert claim.event == Open()
    assert "not differentially private" in claim.mechanism
    assert "all other participants, who can decode" in claim.trust


def test_only_keyed_tokens_are_said_to_hide_anything_from_the_server() -> None:
    for tokens, view in (("keyed", "peers"), ("paper", "server")):
        (claim,) = codecs.build(plan.HashComb(x_min=-1, x_max=1, tokens=tokens)).claims(10, 3)
        assert (claim.view, claim.event) == (view, Open())
