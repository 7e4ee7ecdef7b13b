"""LDP-FL's pieces: what the server adds up, who can link them, and what an attack shows."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from tacit.codecs.rr import compute_flips, randomise_bits
from tacit.codecs.sums import BitSum
from tacit.errors import WireError
from tacit.privacy.accounting.shuffle import compute_shuffled_epsilon, compute_split_epsilon
from tacit.randomness import Draws
from tacit_papers.rr_ldp.split_shuffle import Channel, attack, collect, link, split

CLIENTS, DIM = 30, 13


@pytest.fixture
def payloads() -> list[np.ndarray]:
    updates = np.random.default_rng(0).normal(size=(CLIENTS, DIM)).astype(np.float32)
    root, flips = Draws.seeded(1), compute_flips(1.0)
    return [
        randomise_bits(update, flips, 1.0, root.at(name).for_client())
        for name, update in enumerate(updates)
    ]


@pytest.mark.parametrize("way", ["shuffler", "delays", "marked"])
def test_pieces_add_up_to_the_sum_of_whole_messages(payloads, way) -> None:
    whole = BitSum(DIM)
    for payload in payloads:
        whole.add(payload, 1, Draws.seeded(0).publish("public"))
    pieces, _ = Channel(way=way).carry(split(payloads, DIM), np.random.default_rng(2))
    assert collect(pieces, DIM, CLIENTS).value().tolist() == whole.value().tolist()


def test_a_client_that_votes_twice_stops_the_round(payloads) -> None:
    pieces, sender = Channel(way="shuffler").carry(split(payloads, DIM), np.random.default_rng(2))
    twice = pieces.parameter.copy()
    twice[sender == 3] = 5
    with pytest.raises(WireError, match="one per client"):
        collect(replace(pieces, parameter=twice), DIM, CLIENTS)


def test_a_shuffler_leaves_nothing_that_depends_on_the_sender(payloads) -> None:
    """The pieces of two divisions of the same bits among clients are the same set."""
    bits = split(payloads, DIM)
    dealt = np.stack([np.random.default_rng(n).permutation(bits[:, n]) for n in range(DIM)], axis=1)
    views = []
    for some in (bits, dealt):
        pieces, _ = Channel(way="shuffler").carry(some, np.random.default_rng(2))
        columns = [getattr(pieces, field.name) for field in fields(pieces)]
        views.append(sorted(zip(*(column.tolist() for column in columns), strict=True)))
    assert views[0] == views[1]


def test_delays_link_nothing_if_all_are_asked_at_once_and_everything_one_by_one(payloads) -> None:
    shares = []
    for apart in (0.0, 1.0):
        pieces, sender = Channel(way="delays", apart=apart).carry(
            split(payloads, DIM), np.random.default_rng(4)
        )
        shares.append(float((link(pieces, DIM, CLIENTS) == sender).mean()))
    assert shares[0] < 4 / CLIENTS
    assert shares[1] == 1.0


def test_the_bound_of_shuffled_pieces_holds_and_twins_that_leak_their_sender_exceed_it() -> None:
    honest = attack("shuffler", 0.0, 1.0, 300, 8, 400, 1)["last"]
    assert honest["shown"] <= honest["stated"] < 8 * honest["one_bit"]
    for way, apart in (("marked", 0.0), ("delays", 1.0)):
        found = attack(way, apart, 2.0, 300, 8, 400, 1)["last"]
        assert found["linked"] == 1.0
        assert found["shown"] > compute_split_epsilon(2.0, 8, 3000, 1, 1e-5)


def test_the_epsilon_of_one_bit_is_no_bound_for_an_update() -> None:
    """With a perfect shuffler too: LDP-FL leaves out that the losses of pieces add up."""
    found = attack("shuffler", 0.0, 1.0, 40, 300, 300, 1)["last"]
    assert found["one_bit"] < found["shown"] <= found["stated"]


def test_one_piece_costs_what_one_shuffled_message_does_and_more_pieces_cost_more() -> None:
    assert compute_split_epsilon(1.0, 1, 500, 5, 1e-5) == pytest.approx(
        compute_shuffled_epsilon(1.0, 500, 5, 1e-5), rel=1e-3
    )
    costs = [compute_split_epsilon(0.1, pieces, 250, 1, 1e-5) for pieces in (1, 50, 5001)]
    assert costs == sorted(costs)
    assert costs[-1] == pytest.approx(1.81, abs=0.02)
    assert compute_split_epsilon(40.0, 10, 10**6, 2, 1e-5) == 800.0
