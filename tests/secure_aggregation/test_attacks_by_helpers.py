"""A malicious helper against the server and the other sites: site b helps, and has turned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from tacit import codecs
from tacit.deployment import bodies
from tacit.deployment.bodies import OfferResponse, SiteResponse
from tacit.deployment.site.owner_site import OwnerSite
from tacit.errors import RunError, WireError
from tacit.protocol import messages
from tacit.protocol.messages.signed_message import SignedMessage
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.secure_aggregation import HelperKey, build_sealer
from tacit.secure_aggregation.shares import expand_mask
from tests import roles
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import GENEROUS, model_of, owner
from tests.deployment.test_bound_runs import write_patients
from tests.deployment.test_malicious import Attack
from tests.deployment.test_new_attacks import Deployed
from tests.deployment.test_secure_aggregation_attacks import SITES, begin, plan_of, terms_for, train
from tests.secure_aggregation.parties import ROOT

Change = Callable[[SignedMessage, Attack], bytes]
DP_SUM = {"name": "dp_sum", "epsilon": 1.0, "delta": 1e-5, "clip": 1.0}
TAG = 32


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Deployed:
    return Deployed(
        tmp_path_factory.mktemp("helpers"),
        codec=DP_SUM,
        secure_aggregation={"helpers": 2, "min_clients": 5},
    )


@pytest.fixture(scope="module")
def lost(network: Deployed) -> str:
    """The model of a round without a sum."""
    return model_of(
        network.run("help", lambda message, attack: attack.signed(message, b"", status="failed"))
    )


def part_of(message: SignedMessage) -> tuple[bytes, bytes]:
    ((head, payload),) = bodies.unpack(message.body, SiteResponse).frames
    return head, bytes(payload)


def sent(*frames: tuple[bytes, bytes]) -> bytes:
    return bodies.pack(SiteResponse(frames=[*frames]))


def with_words(change: Callable[[np.ndarray], np.ndarray]) -> Change:
    """Another part under the right tag, which anybody can compute."""

    def attacked(message: SignedMessage, attack: Attack) -> bytes:
        head, payload = part_of(message)
        words = change(np.frombuffer(payload[:-TAG], "<u4")).astype("<u4")
        return attack.signed(message, sent((head, words.tobytes() + payload[-TAG:])))

    return attacked


def with_header(**changes: object) -> Change:
    def attacked(message: SignedMessage, attack: Attack) -> bytes:
        head, payload = part_of(message)
        header = msgspec.structs.replace(
            messages.parse(head, memoryview(payload)).header, **changes
        )
        return attack.signed(message, sent((messages.encode_head(header), payload)))

    return attacked


def _two(message: SignedMessage, attack: Attack) -> bytes:
    head, payload = part_of(message)
    return attack.signed(
        message, sent((head, bytes(len(payload) - TAG) + payload[-TAG:]), (head, payload))
    )


def _wide(message: SignedMessage, attack: Attack) -> bytes:
    head, payload = part_of(message)
    twice = 2 * payload[:-TAG] + payload[-TAG:]
    header = msgspec.structs.replace(
        messages.parse(head, memoryview(payload)).header, payload_size=len(twice)
    )
    return attack.signed(message, sent((messages.encode_head(header), twice)))


LARGE = (
    "20 clients and the noise cannot add up to numbers this large; a client's share or the part of"
    " helper 1 or helper 2 is wrong"
)
ATTACKS: dict[str, tuple[Change, str, str]] = {
    "no part": (
        lambda message, attack: attack.signed(message, sent()),
        "helper 2",
        "exactly one part of the sum, got 0",
    ),
    "two parts": (_two, "helper 2", "exactly one part of the sum, got 2"),
    "no expand_mask": (with_words(np.zeros_like), "server", LARGE),
    "one expand_mask left out": (
        with_words(lambda words: words - expand_mask(bytes(32), len(words), 32)),
        "server",
        LARGE,
    ),
    "the largest number": (with_words(lambda words: words + np.uint32(2**31 - 1)), "server", LARGE),
    "floats that are no numbers": (
        with_words(lambda words: np.full(len(words), np.nan, "<f4").view("<u4")),
        "server",
        LARGE,
    ),
    "numbers of 64 bits": (_wide, "helper 2", "payload_size must be"),
    "a part of another round": (
        with_header(round_no=2),
        "helper 2",
        "it must be for round 1, got round 2",
    ),
    "a part of fewer numbers": (with_header(dim=1), "helper 2", "dim must be"),
}


@pytest.mark.parametrize("kind", ATTACKS)
def test_a_wrong_part_loses_the_round_and_the_record_says_so(
    network: Deployed, lost: str, kind: str
) -> None:
    """Before, no part lost rounds without a word, of two parts the first counted, and a part without masks made a random model."""
    change, sender, reason = ATTACKS[kind]
    place = network.run("help", change)
    (said,) = record.select_entries(list(record.read(place / RECORD)), record.Refused)
    assert (said.sender, reason in said.reason, model_of(place)) == (
        sender,
        True,
        lost,
    ), said.reason


@pytest.mark.parametrize("settings", [DP_SUM, {"name": "rr", "epsilon": 2.0, "clip": 0.02}])
def test_the_bound_holds_for_the_largest_honest_sum(settings: dict[str, object]) -> None:
    """Updates of all clients at the bound, in one direction, with the noise of two helpers."""
    job = plan_of(settings, helpers=2)
    made = codecs.build(job.codec, codecs.Extent.of(job, 40, ()))
    assert made.integers is not None
    assert made.integers.bound is not None
    numbers = np.zeros(50, np.int64)
    for client in range(40):
        update = np.zeros(50, np.float32)
        update[0] = 1e9
        payload = roles.encode(made, update, ROOT.at("client", client), ROOT.at("public")).payload
        numbers += made.integers.read(payload, 50).view("<i4").astype(np.int64)
    if made.integers.noise is not None:
        numbers += sum(made.integers.noise(50, ROOT.at("helper", number)) for number in (1, 2))
    assert np.abs(numbers).max() <= made.integers.bound(50, 40)


def test_a_helpers_key_that_is_none_names_the_helper(network: Deployed) -> None:
    """Before, all honest sites refused the terms, and the server named them and not the helper."""
    for key in (b"", bytes(32), b"x" * 31, HelperKey.draw(ROOT, True).public()):

        def other_key(message: SignedMessage, attack: Attack, key: bytes = key) -> bytes:
            one = msgspec.structs.replace(
                bodies.unpack(message.body, OfferResponse), helper_key=key
            )
            return attack.signed(message, bodies.pack(one))

        with pytest.raises(RunError, match=r"site 'b' cannot help: .* key .*--helper"):
            network.run("open", other_key)


@pytest.mark.parametrize(
    "key", [bytes(32), b"\1" + bytes(31), bytes.fromhex("ec" + 30 * "ff" + "7f")]
)
def test_points_of_low_order_are_no_keys(key: bytes) -> None:
    """Before, a site found out when it sealed, after it had charged its clients for the round."""
    with pytest.raises(WireError, match="nothing can be sealed to it"):
        build_sealer(key)


@pytest.mark.parametrize(("of_others", "begins"), [(4, False), (9, True)])
def test_the_only_helper_has_most_of_the_clients(
    tmp_path: Path, of_others: int, begins: bool
) -> None:
    """It knows its noise and its own clients' updates: what is left of the sum is that of the others. Before, the one client of
    site a answered, with 30 of 32 clients at the helper, under `min_cohort = 10`."""
    told: dict[str, list[str]] = {name: [] for name in SITES}
    rows = {
        name: write_patients(tmp_path / f"{name}.csv", count)
        for name, count in (("a", 1), ("b", of_others), ("c", 30))
    }
    policy = GENEROUS.replace("min_cohort = 1\n", "min_cohort = 10\n")
    sites = {
        name: OwnerSite(owner(name, rows[name], tmp_path / name, policy, tell=told[name].append))
        for name in SITES
    }
    servers = {name: HostileServer(site, plan_of(), "job-1") for name, site in sites.items()}
    opened = {name: one for name, server in servers.items() if (one := server.open())}
    terms = terms_for(opened)
    begun = {name: one for name, server in servers.items() if (one := begin(server, terms))}
    assert ("a" in begun) is begins
    if not begins:
        assert "5 clients are at sites other than the only helper 'c'" in told["a"][-1]
        return
    confirmations = {name: one.confirmation for name, one in begun.items()}
    assert begin(servers["a"], terms, confirmations)
    assert train(servers["a"], "a")
    assert "c alone can subtract its noise and its own clients' updates from the sum" in "\n".join(
        told["a"]
    )
    assert "c alone" not in "\n".join(told["c"])


@pytest.mark.parametrize(
    ("helpers", "sentence"),
    [(1, "the helper adds the noise"), (2, "keeps its secrets and adds its noise")],
)
def test_the_claim_says_that_helpers_must_add_the_noise(helpers: int, sentence: str) -> None:
    """Nobody sees whether a helper did."""
    job = plan_of(helpers=helpers)
    (claim,) = codecs.build(job.codec, codecs.Extent.of(job, 36, ())).claims(50, 36)
    assert sentence in claim.trust[0]
