"""Randomness by address: injective, repeatable, and nothing follows from what is handed over sealed."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.client import ClientRandomness
from tacit.randomness import Draws

ROOT = Draws.seeded(7)
words = st.lists(st.one_of(st.integers(-3, 3), st.text("ab/s0:12", max_size=4)), max_size=4).map(
    tuple
)


@given(one=words, other=words)
def test_two_addresses_never_meet(one, other) -> None:
    same = ROOT.at(*one).words(2).tolist() == ROOT.at(*other).words(2).tolist()
    assert same == (one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [(("a", "b"), ("a/sb",)), ((1,), ("1",)), (("a", ""), ("a",)), ((1, 2), (12,))],
)
def test_addresses_that_look_alike_differ(one, other) -> None:
    assert ROOT.at(*one).seed() != ROOT.at(*other).seed()


def test_addresses_without_a_slash_draw_what_they_always_drew() -> None:
    assert ROOT.at("rounds", 3, 17, "noise").words(2).tolist() == [
        8594922146013699219,
        757746678106220317,
    ]


def test_a_path_is_the_same_in_one_step_or_several() -> None:
    assert ROOT.at("a", 1).at("b").seed() == ROOT.at("a", 1, "b").seed()


def test_a_stream_is_read_in_order_and_begins_anew_each_time() -> None:
    whole = ROOT.at("s").words(100_000)
    stream, parts = ROOT.at("s").stream(), []
    for size in (1, 70_000, 29_999):
        part = np.empty(size, np.uint64)
        stream.fill(part)
        parts.append(part)
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_streams_of_neighbouring_addresses_do_not_overlap() -> None:
    streams = [set(ROOT.at(n).words(5_000).tolist()) for n in range(20)]
    assert all(not one & other for one, other in itertools.combinations(streams, 2))


def test_what_is_sealed_holds_no_way_back() -> None:
    public = ROOT.sealed("public")
    assert public.path == ()
    assert public.key != ROOT.key
    assert public.at(1, 2).seed() != ROOT.at("public", 1, 2).seed()
    assert ROOT.sealed("public") == public != ROOT.sealed("other")
    assert public.sealed("public") != public


def test_noise_depends_on_the_run_the_round_the_exchange_the_client_and_the_request() -> None:
    addresses = list(
        itertools.product("ab", (1, 2), ("x", "y"), (0, 1), ("digest", "other digest"))
    )
    drawn = {
        ClientRandomness(ROOT, client).noise(run, n, exchange, asked).seed()
        for run, n, exchange, client, asked in addresses
    }
    assert len(drawn) == len(addresses)


def test_the_operating_systems_root_is_new_each_time() -> None:
    assert Draws.from_system() != Draws.from_system()


def test_seeds_give_different_roots() -> None:
    assert len({Draws.seeded(seed).key for seed in range(100)}) == 100
