"""A malicious site against the others of a run: it outvotes them, has them charged for nothing, or lets them seem at fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tacit.codecs.distributions.gaussian_noise import STEPS
from tacit.codecs.votes.noisy_counts import CountNoise
from tacit.deployment import bodies
from tacit.deployment.bodies import Counts, MeasureResponse, OfferResponse
from tacit.deployment.server.job import deploy
from tacit.errors import RunError
from tacit.protocol.messages import signed_message
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tests.deployment.local_post import owner, sites_of
from tests.deployment.test_new_attacks import Attack, Deployed, refused_in


@pytest.mark.parametrize("counted", [(2**53, 2**53), (-(2**53), 0), (10, 2**40)])
@pytest.mark.parametrize("divisor", [STEPS, STEPS // 50])
def test_noise_excuses_no_impossible_count(
    tmp_path: Path, divisor: int, counted: tuple[int, int]
) -> None:
    """Exact counts were bounded by the site's rows, and noisy ones by nothing."""
    noise = CountNoise(rows_each=1, divisor=divisor)
    claim = json.dumps(noise.claim("replace all rows of one client").to_json()).encode()
    counts = Counts(rows=counted[0], right=counted[1], noise=noise.stddev, claim=claim)
    sent = bodies.pack(MeasureResponse(model=bytes(32), counts=counts))
    network = Deployed(tmp_path, data__local_test=0.3)
    place = network.run("measure", lambda message, attack: attack.signed(message, sent))
    assert any("rows than it has" in one or "below zero" in one for one in refused_in(place))


@pytest.mark.parametrize("weight", [2**53, 10_000])
def test_a_weight_that_cannot_be_names_its_site(tmp_path: Path, weight: int) -> None:
    """Before, every other site refused the terms, and the error named these."""
    network = Deployed(tmp_path, server={"rounds": 1, "weights": "rows"})

    def change(message: signed_message.SignedMessage, attack: Attack) -> bytes:
        body = bodies.unpack(message.body, OfferResponse)
        return attack.signed(
            message, bodies.pack(msgspec.structs.replace(body, largest_weight=weight))
        )

    with pytest.raises(RunError, match="site 'b' says that one of its clients has") as error:
        network.run("open", change)
    assert "'a'" not in str(error.value)


@pytest.mark.parametrize("word", ["answered", "model"])
def test_nobody_has_rounds_lost_that_were_never_asked_before(tmp_path: Path, word: str) -> None:
    """Before, one site's word had all clients charged in every round, and no round counted."""
    network = Deployed(tmp_path, server={"rounds": 3})
    owners = [
        owner(name, rows, tmp_path / "sites" / name)
        for name, rows in zip("abc", network.ready.files, strict=True)
    ]
    sites, attack = sites_of(owners, min_sites=3, deadline=0.2), Attack(owners[1].key)

    def spoil(site: str, reply: bytes) -> bytes:
        message = signed_message.read(reply)
        if site != "b" or message.subject.kind != "ask":
            return reply
        subject = msgspec.structs.replace(message.subject, status=word)
        return signed_message.write(subject, b"", attack.key)

    sites.transport.spoil = spoil  # type: ignore[attr-defined]
    settings: dict[str, Any] = {"simulated_noise": True, "identity": "same"}
    with pytest.raises(RunError, match=r"round 1, train: needs 3 sites, got 2 \(b: "):
        deploy(network.ready.plan, sites, tmp_path / "runs", **settings)
    (place,) = (tmp_path / "runs").iterdir()
    entries = list(record.read(place / RECORD))
    released = record.select_entries(entries, record.Released)
    assert {one.round_no for one in released} == {0, 1}
