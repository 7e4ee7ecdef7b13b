"""What a leader, a client or a stranger may try on a helper; each is refused with a sentence, and nothing is answered."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit.codecs.distributions.gaussian_noise import draw_gaussian
from tacit.errors import RunError, WireError
from tacit.secure_aggregation import (
    Helper,
    build_sealer,
    derive_round_secrets,
    derive_salt,
    is_post_quantum,
    seal_keys,
    to_signed,
)
from tests.secure_aggregation.parties import (
    ROOT,
    answered,
    helper,
    keys_of,
    leader_with,
    numbers_of,
    other,
    site_key,
    terms_for,
)

TERMS = terms_for()
TWO = terms_for(helpers=2)
ANOTHER_SET = (
    "round 1 already has a response for another set of clients or seeds; a round gets one response"
)
SIGNATURE, TOKEN = (
    "its site's signature is not valid",
    "its token is not for round 2, so it did not take part in this round",
)


def refused(what: str, leader, asked: Helper, names: list[int] | None = None) -> None:
    with pytest.raises(WireError, match=f"helper . refused: .*{what}"):
        leader.asks(asked, names)
    newest = asked._store.newest()
    assert newest is None or newest.round_no != leader.round_no or what == ANOTHER_SET


def test_second_set() -> None:
    leader, asked = leader_with(TERMS), helper(TERMS)
    first = leader.asks(asked)
    refused(ANOTHER_SET, leader, asked, [0, 1, 2, 3])
    np.testing.assert_array_equal(leader.asks(asked), first)


def test_second_set_after_a_restart(tmp_path) -> None:
    leader, path = leader_with(TERMS), tmp_path / "own" / "train.safetensors"
    first = leader.asks(helper(TERMS, path=path))
    again = helper(TERMS, path=path)
    refused(ANOTHER_SET, leader, again, [0, 1, 2, 3])
    np.testing.assert_array_equal(leader.asks(again), first)


def test_same_set_with_other_seeds() -> None:
    leader, asked = leader_with(TERMS), helper(TERMS)
    leader.asks(asked)
    key = ROOT.sealed("another key").key
    sealed = seal_keys(TERMS.context(2), [key], [build_sealer(TERMS.helpers[0])], site_key(2))
    leader.envelopes[2] = sealed + bytes(16) + derive_round_secrets(TERMS, key, 1, bytes(16)).token
    refused(ANOTHER_SET, leader, asked)


def test_small_set() -> None:
    refused(
        "a set must have at least 3 clients, got 2", leader_with(TERMS, range(2)), helper(TERMS)
    )


def test_set_of_nobody() -> None:
    refused("a set must have at least 3 clients, got 0", leader_with(TERMS), helper(TERMS), [])


def test_client_twice_in_a_set() -> None:
    refused("clients must be named once each", leader_with(TERMS), helper(TERMS), [0, 1, 1, 2])


def test_replay_of_an_older_round() -> None:
    asked = helper(TERMS)
    leader_with(TERMS, round_no=4).asks(asked)
    refused(
        "round 3 is over: round 4 has a response already", leader_with(TERMS, round_no=3), asked
    )


def test_envelope_of_another_round() -> None:
    leader = leader_with(TERMS, round_no=2)
    leader.envelopes[3] = leader_with(TERMS, round_no=1).envelopes[3]
    refused(f"client 3: {TOKEN}", leader, helper(TERMS))


def test_round_after_the_last() -> None:
    refused(
        "the plan has rounds 1 to 9, got round 10", leader_with(TERMS, round_no=10), helper(TERMS)
    )


def test_foreign_key() -> None:
    leader = leader_with(TERMS)
    leader.envelopes[1] = answered(TERMS, 1, 1, numbers_of(1, TERMS), Ed25519PrivateKey.generate())[
        1
    ]
    refused(f"client 1: {SIGNATURE}", leader, helper(TERMS))


def test_unsigned() -> None:
    leader = leader_with(TERMS)
    leader.envelopes[1] = leader.envelopes[1][:-112] + bytes(64) + leader.envelopes[1][-48:]
    refused(f"client 1: {SIGNATURE}", leader, helper(TERMS))


def test_stranger() -> None:
    leader = leader_with(TERMS)
    leader.envelopes[1000] = answered(TERMS, 1, 1000, numbers_of(1000, TERMS))[1]
    refused("client 1000 belongs to no site in this helper's peers", leader, helper(TERMS))


def test_swapped_clients() -> None:
    leader = leader_with(TERMS)
    leader.envelopes[0], leader.envelopes[1] = leader.envelopes[1], leader.envelopes[0]
    refused(f"client 0: {SIGNATURE}", leader, helper(TERMS))


def test_one_clients_answer_under_another_name_of_its_site() -> None:
    """A site with several clients signs for each of them by name."""
    leader = leader_with(TERMS)
    leader.envelopes[1] = answered(TERMS, 1, 0, numbers_of(0, TERMS), site_key(1))[1]
    refused(f"client 1: {SIGNATURE}", leader, helper(TERMS))


@pytest.mark.parametrize(
    "changes",
    [
        {"run": "run-2"},
        {"digest": "abd"},
        {"exchange": "votes"},
        {"size": 51},
        {"bits": 64},
        {"min_clients": 1},
        {"rounds": 10},
    ],
)
def test_another_run_digest_exchange_size_or_least_set(changes) -> None:
    made_for = other(TERMS, **changes)
    leader = leader_with(TERMS)
    leader.envelopes[4] = leader_with(made_for).envelopes[4]
    refused(f"client 4: {SIGNATURE}", leader, helper(TERMS))


def test_key_sealed_to_another_helper() -> None:
    leader = leader_with(TWO)
    swapped = [build_sealer(public) for public in reversed(TWO.helpers)]
    leader.envelopes[2] = (
        seal_keys(TWO.context(2), keys_of(2, 2), swapped, site_key(2)) + leader.envelopes[2][-80:]
    )
    for number in (1, 2):
        refused(
            "client 2: its key is not sealed to this helper for this run, sum and client",
            leader,
            helper(TWO, number),
        )


def test_key_sealed_for_another_run_but_signed_for_this_one() -> None:
    leader = leader_with(TERMS)
    sealed = leader_with(other(TERMS, run="run-2")).envelopes[0][:-112]
    leader.envelopes[0] = (
        sealed + site_key(0).sign(TERMS.context(0) + sealed) + leader.envelopes[0][-48:]
    )
    refused("client 0: its key is not sealed to this helper", leader, helper(TERMS))


def test_key_of_the_wrong_length() -> None:
    leader = leader_with(TERMS)
    sealed = build_sealer(TERMS.helpers[0])(bytes(31), TERMS.context(0)) + b"\0"
    leader.envelopes[0] = (
        sealed + site_key(0).sign(TERMS.context(0) + sealed) + leader.envelopes[0][-48:]
    )
    refused("client 0: its key", leader, helper(TERMS))


def test_client_that_did_not_answer() -> None:
    """Its keys are known from an earlier round; without its token for this one the leader cannot put it into the set."""
    asked = helper(TERMS)
    leader_with(TERMS, round_no=1).asks(asked)
    leader = leader_with(TERMS, range(4), round_no=2)
    leader.envelopes[4] = leader_with(TERMS, round_no=1).envelopes[4]
    refused(f"client 4: {TOKEN}", leader, asked)


def test_truncated_envelopes() -> None:
    leader = leader_with(TERMS)
    leader.envelopes = {name: envelope[:-1] for name, envelope in leader.envelopes.items()}
    refused("each client's envelope must have 192 bytes", leader, helper(TERMS))


def test_store_of_another_run_is_not_taken_for_this_ones(tmp_path) -> None:
    """A run that was opened again under the same name, with another plan or other terms, does not go on from old answers."""
    path = tmp_path / "train.safetensors"
    leader_with(TERMS).asks(helper(TERMS, path=path))
    with pytest.raises(
        WireError, match="holds a helper's response under another plan or other terms"
    ):
        helper(other(TERMS, digest="abd"), path=path)


def test_helper_set_back_to_an_earlier_state_adds_other_noise_to_another_set(tmp_path) -> None:
    """Before, both answers had the same noise: their difference was one client's numbers, exactly."""
    leader, path = leader_with(TERMS, range(6)), tmp_path / "train.safetensors"
    first = leader.asks(helper(TERMS, noise=own_noise, path=path))
    path.unlink()
    again = leader.asks(helper(TERMS, noise=own_noise, path=path))
    np.testing.assert_array_equal(again, first)  # the same question: nothing new to average
    path.unlink()
    fewer = leader.asks(helper(TERMS, noise=own_noise, path=path), [0, 1, 2, 3, 4])
    left = to_signed(first - fewer + leader_share(leader, 5)) - to_signed(
        numbers_of(5, TERMS)
    )  # the masks cancel, the noise does not
    assert np.std(left) > 2**15


def test_client_set_back_to_an_earlier_state_masks_other_numbers_with_other_masks() -> None:
    """Before, a round's expand_mask was the same whatever it masked: two answers to one round gave the difference of two updates."""
    one, two = numbers_of(1, TERMS), numbers_of(2, TERMS)
    shares = [answered(TERMS, 1, 1, numbers)[0] for numbers in (one, two)]
    assert not np.array_equal(shares[0] - shares[1], one - two)
    again = answered(TERMS, 1, 1, one)[0]
    np.testing.assert_array_equal(again, shares[0])
    leader = leader_with(TERMS)
    leader.take(1, one)
    first = leader.asks(asked := helper(TERMS))
    leader.take(1, two)
    refused(ANOTHER_SET, leader, asked)
    leader.envelopes[1] = answered(TERMS, 1, 1, one)[1]
    np.testing.assert_array_equal(leader.asks(asked), first)


def test_salt_of_another_answer() -> None:
    """The token holds the salt, so the leader cannot have a helper unmask with a seed that no client used."""
    leader = leader_with(TERMS)
    envelope = leader.envelopes[2]
    leader.envelopes[2] = envelope[:-48] + bytes(16) + envelope[-32:]
    refused("client 2: its token is not for round 1", leader, helper(TERMS))


def test_a_token_says_nothing_of_a_seed() -> None:
    """The token passes through the leader: were it the seed, or made like one of another round, the leader could take masks off."""
    key, salt = keys_of(1)[0], b"s" * 16
    others = [
        (TERMS, key, 2, salt),
        (TERMS, key, 1, b"t" * 16),
        (TWO, key, 1, salt),
        (TERMS, keys_of(2)[0], 1, salt),
    ]
    found = [
        value
        for given in ((TERMS, key, 1, salt), *others)
        for value in derive_round_secrets(*given)
    ]
    assert len(set(found)) == 10
    assert found[:2] == list(derive_round_secrets(TERMS, key, 1, salt))


def test_noise_is_another_in_every_round() -> None:
    """Also where it can be compared with a simulation, and depends on nothing but sum and round."""
    drawn = []
    for simulated in (False, True):
        asked = helper(
            TERMS, noise=lambda own: drawn.append(own) or own_noise(own), simulated=simulated
        )
        for round_no in (1, 2):
            leader_with(TERMS, round_no=round_no).asks(asked)
    assert (
        len(
            {own.stream().fill(words := np.empty(2, np.uint64)) or words.tobytes() for own in drawn}
        )
        == 4
    )


def test_helpers_cannot_test_a_guess_of_the_numbers() -> None:
    """A helper has the client's key for the run; the salt does not follow from it and the numbers."""
    numbers = numbers_of(1, TERMS)
    salt = derive_salt(TERMS, b"s" * 32, 1, numbers)
    assert salt != derive_salt(TERMS, keys_of(1)[0], 1, numbers)
    others = [
        derive_salt(TERMS, b"t" * 32, 1, numbers),
        derive_salt(TERMS, b"s" * 32, 2, numbers),
        derive_salt(TWO, b"s" * 32, 1, numbers),
    ]
    assert len({salt, *others, derive_salt(TERMS, b"s" * 32, 1, numbers + 1)}) == 5


def test_two_helpers_that_are_asked_for_different_sets() -> None:
    """Whichever shares the leader adds up, masks of the client that one set lacks stay on: all it sees looks random."""
    terms = terms_for(size=20_000, helpers=2)
    leader = leader_with(terms, range(6))
    parts = leader.asks(helper(terms, 1)) + leader.asks(helper(terms, 2), [0, 1, 2, 3, 4])
    for total in (leader.sum + parts, leader.sum - leader_share(leader, 5) + parts):
        bits = np.unpackbits(total.view(np.uint8)).reshape(-1, 32).mean(axis=0)
        assert np.abs(bits - 0.5).max() < 5.2 * 0.5 / np.sqrt(
            terms.size
        )  # alarms falsely with a probability below 1e-5, seeds fixed


def test_post_quantum_keys_are_told_by_their_size() -> None:
    assert [is_post_quantum(terms_for(post_quantum=flag).helpers[0]) for flag in (False, True)] == [
        False,
        True,
    ]


def own_noise(own) -> np.ndarray:
    return draw_gaussian(own, TERMS.size) >> 10


def leader_share(leader, client: int) -> np.ndarray:
    """The leader's share of one client's numbers."""
    return answered(leader.terms, leader.round_no, client, numbers_of(client, leader.terms))[0]


def test_damaged_store_is_not_taken_for_an_empty_one(tmp_path) -> None:
    path = tmp_path / "train.safetensors"
    leader_with(TERMS).asks(helper(TERMS, path=path))
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(RunError, match="checksum does not match"):
        helper(TERMS, path=path)
