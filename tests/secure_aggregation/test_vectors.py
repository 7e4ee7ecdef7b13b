"""Fixed values of everything that is hashed, sealed or drawn under a label: another implementation must get the same bytes."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest

from tacit import files
from tacit.codecs.distributions.gaussian_noise import draw_gaussian
from tacit.errors import WireError
from tacit.randomness import Draws
from tacit.secure_aggregation import (
    AggregationTerms,
    Helper,
    HelperKey,
    build_sealer,
    derive_round_secrets,
    derive_salt,
    seal_keys,
    subtract_masks,
    to_signed,
    zeros,
)
from tacit.secure_aggregation import helper as helper_module
from tacit.secure_aggregation.response_store import ResponseStore, StoredResponse
from tacit.secure_aggregation.seal import count_seal_bytes
from tests.secure_aggregation.parties import (
    ROOT,
    helper,
    helper_keys,
    keys_of,
    known,
    leader_with,
    numbers_of,
    site_key,
    terms_for,
)

TERMS = AggregationTerms(
    run="run-1", digest="abc", exchange="train", size=50, bits=32, helpers=(bytes(range(32)),), min_clients=3, rounds=9
)  # fmt: skip


def test_terms() -> None:
    assert TERMS.binding.hex() == "6352ef2a67e31de249233a57bca4a00a322bef13a99c5a8c5c9bf182e9ac0ff0"
    assert TERMS.context(7) == b"\x93\xb1tacit sealed keys\xc4\x20" + TERMS.binding + b"\x07"
    assert (
        TERMS.tag(2, [3, 5]).hex()
        == "a3a4cf1950a83a27edccdb505f0b8824e85a545d8a04aa727bed6b5d78a6aca5"
    )
    assert (TERMS.sealed_sizes, TERMS.envelope_size, TERMS.share_size) == ((80,), 192, 200)


def test_seed_token_and_salt_of_a_round() -> None:
    now = derive_round_secrets(TERMS, b"k" * 32, 258, b"s" * 16)
    assert now.seed.hex() == "0ced6d81f331cbe220665ff666e3fbf25292787e757b2abbfa6c4299878b33c1"
    assert now.token.hex() == "af15f9aa28e745bab1f4ab679bbbb91ae5d66427da08789ba20902a00d6f6a11"
    assert (
        derive_salt(TERMS, b"c" * 32, 258, np.arange(50, dtype="<u4")).hex()
        == "8b03482ec864bf600ad08d90bd564cfc"
    )


def test_keys_of_a_helper() -> None:
    """An owner keeps one secret; the key that other sites know must follow from it in every version."""
    key, hybrid = (HelperKey.draw(Draws.seeded(5), post_quantum) for post_quantum in (False, True))
    assert key.public().hex() == "fa03100ad36959586e9609d3dc9fc065b52030e1d86869efb3a664cbd80e9b28"
    assert (
        hashlib.sha256(hybrid.public()).hexdigest()
        == "3791077d35003ed4ca10f75986b2d729bd1239aa870ada3bb76d76414add5d3d"
    )
    assert hybrid.public()[-32:] == key.public()
    assert key.lattice is None
    assert HelperKey.draw(Draws.seeded(5)).lattice is None
    assert hybrid.lattice is not None
    halves = [Draws.seeded(5).sealed("helper key", part).key for part in (1, 2)]
    assert hybrid.lattice.private_bytes_raw() == b"".join(halves)
    assert [count_seal_bytes(one.public()) for one in (key, hybrid)] == [48, 1136]
    for one in (key, hybrid):
        assert one.open(build_sealer(one.public())(b"secret", b"context"), b"context") == b"secret"
        with pytest.raises(WireError, match="its key is not sealed to this helper"):
            one.open(build_sealer(one.public())(b"secret", b"context"), b"another context")


@pytest.mark.parametrize("size", [0, 31, 33, 1183, 1184, 1215, 1217])
def test_no_key_of_a_helper(size) -> None:
    with pytest.raises(WireError, match=f"a public key has 32 or 1,216 bytes, got {size:,}"):
        build_sealer(bytes(size))


@pytest.mark.parametrize("simulated", [False, True])
def test_the_address_of_a_helpers_noise(simulated) -> None:
    """Sum and round; in a run that is no comparison also the question: its set of clients and their seeds."""
    terms, drawn = terms_for(), []
    asked = helper(
        terms,
        noise=lambda own: drawn.append(own) or draw_gaussian(own, terms.size),
        simulated=simulated,
    )
    leader_with(terms, round_no=2).asks(asked)
    newest = asked._store.newest()
    assert newest is not None
    salts = [
        derive_salt(terms, ROOT.sealed("salt", client).key, 2, numbers_of(client, terms))
        for client in range(5)
    ]
    seeds = [
        derive_round_secrets(terms, keys_of(client)[0], 2, salt).seed
        for client, salt in enumerate(salts)
    ]
    assert (
        newest.request_digest
        == hashlib.sha256(terms.tag(2, range(5)) + b"".join(seeds)).hexdigest()
    )
    address = ("train", 2) if simulated else ("train", 2, newest.request_digest)
    assert drawn[0].words(4).tolist() == ROOT.at("own", 1, *address).words(4).tolist()


def test_noise_is_by_the_question_unless_a_run_is_compared_with_a_simulation() -> None:
    terms, drawn = terms_for(), []
    asked = Helper(
        terms,
        1,
        helper_keys(1)[0],
        known,
        ROOT,
        lambda own: drawn.append(own) or draw_gaussian(own, terms.size),
    )
    leader_with(terms).asks(asked)
    assert drawn[0].words(4).tolist() != ROOT.at("train", 1).words(4).tolist()


def test_a_sealed_key_is_opened_once(monkeypatch) -> None:
    terms, opened, open_key = terms_for(), [], helper_module.open_key
    monkeypatch.setattr(
        helper_module, "open_key", lambda *given: opened.append(given[4]) or open_key(*given)
    )
    asked = helper(terms)
    first = leader_with(terms, range(3), round_no=1)
    first.asks(asked)
    second = leader_with(terms, range(3), round_no=2)
    for client in range(3):
        second.envelopes[client] = first.envelopes[client][:-48] + second.envelopes[client][-48:]
    second.asks(asked)
    assert opened == [0, 1, 2]


def test_every_helper_has_its_own_kind_of_key() -> None:
    """The places of sealed keys in an envelope follow from each helper's own key."""
    keys = [HelperKey.draw(ROOT.at("helper", number), number == 1) for number in range(3)]
    terms = replace(terms_for(), helpers=tuple(key.public() for key in keys))
    leader = leader_with(terms)
    parts = [
        Helper(terms, number, key, known, ROOT.at("own", number))
        for number, key in enumerate(keys, 1)
    ]
    total = leader.sum + sum(leader.asks(part) for part in parts)
    np.testing.assert_array_equal(
        to_signed(total), sum(to_signed(numbers_of(client, terms)) for client in range(5))
    )
    with pytest.raises(ValueError, match="zip"):
        seal_keys(b"context", keys_of(1, 2), [build_sealer(keys[0].public())], site_key(1))


def test_the_digest_of_a_question() -> None:
    question = helper(TERMS)._digest(2, [3, 5], [b"a" * 32, b"b" * 32])
    assert question == hashlib.sha256(TERMS.tag(2, [3, 5]) + b"a" * 32 + b"b" * 32).hexdigest()


def test_what_a_helper_keeps(tmp_path) -> None:
    """The file and its folder, which nobody else may open."""
    path, numbers = tmp_path / "runs" / "own" / "train.safetensors", np.arange(4, dtype="<u4")
    for round_no in (1, 2):
        ResponseStore(path, "binding").save(StoredResponse(round_no, "question", numbers))
    arrays, facts = files.unseal(path)
    assert {name: facts[name] for name in ("round", "question", "sum")} == {
        "round": "2",
        "question": "question",
        "sum": "binding",
    }
    assert list(arrays) == ["answer"]
    assert path.parent.stat().st_mode & 0o777 == 0o700
    newest = ResponseStore(path, "binding").newest()
    assert newest is not None
    assert (newest.round_no, newest.request_digest, newest.numbers.tolist()) == (
        2,
        "question",
        [0, 1, 2, 3],
    )


def test_masks_are_written_where_they_are_wanted() -> None:
    numbers, seeds = np.arange(6, dtype="<u2"), [b"a" * 32, b"b" * 32]
    expected, out = subtract_masks(numbers, seeds), zeros(6, 16)
    assert subtract_masks(numbers, seeds, out) is out
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(numbers, np.arange(6))
    assert to_signed(np.array([2**63 - 1], "<u8")).tolist() == [2**63 - 1]
    assert to_signed(np.array([2**16 - 1, 2**15, 5], "<u2")).tolist() == [-1, -(2**15), 5]


def test_rounds_of_the_plan_are_answered_and_no_others() -> None:
    terms = replace(terms_for(), rounds=2)
    asked = helper(terms)
    with pytest.raises(WireError, match="the plan has rounds 1 to 2, got round 0"):
        leader_with(terms, round_no=0).asks(asked)
    leader_with(terms, range(3), round_no=1).asks(asked)
    leader_with(terms, range(3), round_no=2).asks(asked)
    with pytest.raises(WireError, match="the plan has rounds 1 to 2, got round 3"):
        leader_with(terms, round_no=3).asks(asked)
    with pytest.raises(WireError, match="round 1 is over: round 2 has a response already"):
        leader_with(terms, round_no=1).asks(asked)
