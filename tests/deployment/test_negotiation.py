"""Sites agree on a secret and a range before round one, over a server that can read neither; and attacks by that server.

Sites a, b and c know each other's signing keys. The server carries every message.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import plan as plans
from tacit.deployment import bodies
from tacit.deployment.agenda import list_negotiation_steps
from tacit.deployment.bodies import Member, NegotiationRequest, NegotiationResponse
from tacit.deployment.server.job import deploy, resume
from tacit.deployment.site.site_negotiation import NEGOTIATION, load_negotiated
from tacit.errors import PolicyError, TacitError
from tacit.models.exporting import make_up_rows
from tacit.models.predict import load
from tacit.negotiation.exchange.signed_step import SignedStep, sign_step
from tacit.protocol.messages.signed_message import read
from tacit.runs.run_folder import NEGOTIATED
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import GENEROUS, LocalPost, owner, rehearsed, sites_of
from tests.deployment.test_bound_runs import job
from tests.deployment.test_secure_aggregation_attacks import SITES, Network, begin, terms_for, train
from tests.simulation.small import small_plan, write_csv

HASHCOMB = {"name": "hashcomb", "levels": 10}
NEGOTIATES: dict[str, Any] = {
    "updates": {"codec": HASHCOMB},
    "weights": {"codec": {**HASHCOMB, "of": "weights"}},
    "only a secret": {"codec": {**HASHCOMB, "x_min": -0.04, "x_max": 0.04}},
    "tokens of rqm": {"codec": {"name": "rqm", "clip": 0.1, "margin": 0.1, "levels": 16, "keep": 0.42, "tokens": True}},
}  # fmt: skip


@pytest.fixture(scope="module")
def reviews(tmp_path_factory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "reviews.csv")


def negotiating(reviews: Path, **changes: Any) -> plans.Plan:
    given = {"codec": HASHCOMB, "negotiation": {}, "server": {"rounds": 2}, **changes}
    return small_plan(reviews, **given)


@pytest.mark.parametrize("what", NEGOTIATES)
def test_a_deployed_run_equals_its_simulation(reviews, tmp_path, what) -> None:
    simulated, deployed = rehearsed(negotiating(reviews, **NEGOTIATES[what]), tmp_path)
    assert simulated == deployed


def start_sites(
    job: plans.Plan, folder: Path, **of_owners: Any
) -> tuple[Any, dict[str, list[str]], Any]:
    """A run that is ready to be deployed between three sites with noise of their own, and what each tells its owner."""
    ready = prepare_rehearsal(job, folder / "rows", 3)
    told: dict[str, list[str]] = {name: [] for name in SITES}
    owners = [
        owner(name, file, folder / name, tell=told[name].append, **of_owners)
        for name, file in zip(SITES, ready.files, strict=True)
    ]
    return ready, told, owners


def test_sites_agree_and_say_so_and_the_server_learns_nothing(reviews, tmp_path) -> None:
    ready, told, owners = start_sites(negotiating(reviews), tmp_path)
    sites, carried = sites_of(owners), list[bytes]()
    post = sites.transport
    assert isinstance(post, LocalPost)

    def listen(site: str, reply: bytes) -> bytes:
        carried.append(reply)
        return reply

    post.spoil = listen
    deploy(ready.plan, sites, tmp_path / "runs", test=str(ready.test))
    agreed = [load_negotiated(next((one.folder / "runs").glob("small-*"))) for one in owners]
    assert agreed[0] is not None
    assert all(one == agreed[0] for one in agreed), "one result at all sites"
    secret, limits = agreed[0].secret, agreed[0].limits
    assert limits is not None
    assert not any(secret in reply for reply in carried)
    low, high = limits
    assert -16 < low < 0 < high < 16
    shown = {name: [line for line in said if "agreed with" in line] for name, said in told.items()}
    assert all(len(lines) == 1 for lines in shown.values()), told
    checks = {re.search(r"check value: (\w{16})", lines[0]).group(1) for lines in shown.values()}  # type: ignore[union-attr]
    assert checks == {agreed[0].confirmation[:16]}
    assert f"{low:.4g} to {high:.4g}" in shown["a"][0]
    for one in owners:  # the result is private, and the keys of the negotiation end with the run
        home = next((one.folder / "runs").glob("small-*"))
        assert (home / NEGOTIATED).stat().st_mode & 0o077 == 0
        assert not (home / NEGOTIATION).exists()


def test_two_runs_have_two_secrets(reviews, tmp_path) -> None:
    secrets = set()
    for name in ("one", "two"):
        ready, _, owners = start_sites(negotiating(reviews), tmp_path / name)
        deploy(ready.plan, sites_of(owners), tmp_path / name / "runs", test=str(ready.test))
        agreed = load_negotiated(next((owners[0].folder / "runs").glob("small-*")))
        assert agreed is not None
        secrets.add(agreed.secret)
    assert len(secrets) == 2


@pytest.mark.parametrize("stop_at", ["keys", "open", "done"])
def test_a_site_that_is_restarted_goes_on(reviews, tmp_path, stop_at) -> None:
    """Both sides stop in the middle; the run goes on from what they stored, and one secret comes out."""
    ready, _, owners = start_sites(negotiating(reviews), tmp_path)
    sites = sites_of(owners)
    post = sites.transport
    assert isinstance(post, LocalPost)

    def stop(site: str, reply: bytes) -> bytes:
        if site == "b" and read(reply).subject.exchange == stop_at:
            raise KeyboardInterrupt
        return reply

    post.spoil = stop
    with pytest.raises(KeyboardInterrupt):
        deploy(ready.plan, sites, tmp_path / "runs", test=str(ready.test))
    place = next((tmp_path / "runs").glob("small-*"))
    resume(place, sites_of(owners))
    agreed = {load_negotiated(next((one.folder / "runs").glob("small-*"))) for one in owners}
    assert len(agreed) == 1
    assert None not in agreed


def test_a_policy_that_does_not_allow_it(reviews, tmp_path) -> None:
    careful = GENEROUS.replace("negotiation = true\n", "")
    ready, told, owners = start_sites(negotiating(reviews), tmp_path, policy=careful)
    with pytest.raises(PolicyError, match=re.escape("allow.negotiation")):
        deploy(ready.plan, sites_of(owners), tmp_path / "runs", test=str(ready.test))
    assert "allow.negotiation = false: the sites agree on a secret" in told["a"][-1]


def test_two_sites_cannot_negotiate(reviews, tmp_path) -> None:
    ready, told, owners = start_sites(negotiating(reviews), tmp_path)
    with pytest.raises(TacitError):
        deploy(ready.plan, sites_of(owners[:2]), tmp_path / "runs", test=str(ready.test))
    assert "it needs at least 3 sites, got 2" in told["a"][-1]


# A server that deviates. It speaks to each site by itself.


def plan_of(**changes: Any) -> plans.Plan:
    return job(codec=HASHCOMB, negotiation={}, **changes)


STEPS = list_negotiation_steps(plan_of())


class Relay:
    """Three sites that have begun a run, and a server that carries the steps of their negotiation as it likes."""

    def __init__(self, network: Network, run: str = "job-1") -> None:
        self.network, self.servers = network, dict[str, HostileServer]()
        opened = {}
        for name in SITES:
            self.servers[name] = network.server(name, plan_of(), run)
            opened[name] = self.servers[name].open()
        assert all(opened.values()), network.told
        self.terms = terms_for(opened, helps=())  # type: ignore[arg-type]
        begun = {name: begin(server, self.terms) for name, server in self.servers.items()}
        assert all(begun.values()), network.told
        signed = {name: one.confirmation for name, one in begun.items() if one}
        assert all(begin(server, self.terms, signed) for server in self.servers.values())

    def ask(self, site: str, step: str, received: list[bytes]) -> bytes | None:
        server = self.servers[site]
        reply = server.send("negotiate", step, bodies.pack(NegotiationRequest(received=received)))
        if server.status != "ok":
            return None
        return bodies.unpack(reply.body, NegotiationResponse).message

    def carry_until(self, step: str) -> list[bytes]:
        """Carry all steps before this one honestly; return the messages that it begins with."""
        received: list[bytes] = []
        for name in STEPS[: STEPS.index(step)]:  # type: ignore[arg-type]
            found = [self.ask(site, name, received) for site in SITES]
            assert all(found), self.network.told
            received = [one for one in found if one is not None]
        return received

    def said(self, site: str) -> str:
        return self.network.told[site][-1]


@pytest.fixture
def network(tmp_path) -> Network:
    return Network(tmp_path)


def test_an_honest_server_carries_it(network) -> None:
    """What all attacks below start from."""
    relay = Relay(network)
    last = relay.carry_until("done")
    assert [relay.ask(site, "done", last) for site in SITES] == [b""] * 3
    assert "agreed with b, c on a secret that the server does not know" in relay.said("a")


def test_nothing_is_trained_before_the_negotiation(network) -> None:
    relay = Relay(network)
    assert train(relay.servers["a"], "a") is None
    assert "the sites have not negotiated yet" in relay.said("a")


def test_nothing_is_negotiated_before_the_sites_confirmed(network) -> None:
    opened = {name: network.server(name, plan_of()) for name in SITES}
    responses = {name: one.open() for name, one in opened.items()}
    assert all(responses.values())
    assert begin(opened["a"], terms_for(responses, helps=()))  # type: ignore[arg-type]
    opened["a"].send("negotiate", "keys", bodies.pack(NegotiationRequest()))
    assert opened["a"].status == "terms"
    assert "have not confirmed the plan and terms to this site" in network.told["a"][-1]


def test_the_server_invents_a_site(network) -> None:
    """A made-up member would learn the secret, so a site with an unknown member does not begin."""
    opened = {name: network.server(name, plan_of()) for name in SITES}
    responses = {name: one.open() for name, one in opened.items()}
    terms = terms_for(responses, helps=())  # type: ignore[arg-type]
    made_up = Member(
        site="z", first=terms.clients, clients=5, rows=10, test_rows=0, nonce=bytes(32)
    )
    terms = msgspec.structs.replace(terms, members=[*terms.members, made_up])
    assert begin(opened["a"], terms) is None
    assert "[peers] of site.toml lacks z" in network.told["a"][-1]


def forge(message: bytes, key: Ed25519PrivateKey | None = None, **changes: Any) -> bytes:
    """A message with some fields replaced, under its old signature or one by another key."""
    forged = msgspec.structs.replace(msgspec.msgpack.decode(message, type=SignedStep), **changes)
    if key is not None:
        forged = msgspec.structs.replace(forged, signature=key.sign(b"anything"))
    return msgspec.msgpack.encode(forged)


def test_the_server_puts_its_own_key_in_a_sites_place(network) -> None:
    relay = Relay(network)
    keys = relay.carry_until("words")
    ways = {
        "a": [keys[0], forge(keys[1], content=b"k" * 64), keys[2]],
        "b": [keys[0], keys[1], forge(keys[2], Ed25519PrivateKey.generate(), content=b"k" * 64)],
        "c": [keys[0], keys[0], keys[2]],
    }
    for site, sent in ways.items():
        assert relay.ask(site, "words", sent) is None
        assert "is not signed with its key for this step, this run and these sites" in relay.said(
            site
        )
    assert relay.servers["b"].rule == "because of site c"


@pytest.mark.parametrize("step", STEPS[1:])
def test_the_server_drops_reorders_changes_or_repeats_messages(network, step) -> None:
    relay = Relay(network)
    received = relay.carry_until(step)
    place = STEPS.index(step)
    ways = {
        "a": received[:2],
        "b": [received[1], received[0], received[2]],
        "c": [received[0], received[1][:-1] + bytes([received[1][-1] ^ 1]), received[2]],
    }
    for site, sent in ways.items():
        assert relay.ask(site, step, sent) is None, site
        assert relay.servers[site].status == "negotiation"
        assert relay.ask(site, step, received) is None, "the step is not begun again with others"
        assert relay.servers[site].status == "answered"
    if place + 1 < len(STEPS):
        assert relay.ask("a", STEPS[place + 1], received) is None


def test_steps_cannot_be_skipped_or_repeated(network) -> None:
    relay = Relay(network)
    received = relay.carry_until("range")
    assert relay.ask("a", "open", received) is None
    assert "step 'range' comes before 'open'" in relay.said("a")
    assert relay.ask("b", "keys", [b"x"]) is None
    assert relay.servers["b"].status == "answered"


def test_messages_of_another_run_are_refused(tmp_path) -> None:
    network = Network(tmp_path)
    first, second = Relay(network, "job-1"), Relay(network, "job-2")
    old, new = first.carry_until("words"), second.carry_until("words")
    assert second.ask("a", "words", [new[0], old[1], new[2]]) is None
    assert "because of site 'b'" in second.said("a")
    assert second.servers["a"].rule == "because of site b"


def test_a_site_that_signs_two_messages_is_named(network) -> None:
    """The server shows b another message of c than a, both signed by c: a learns it from b's next message."""
    relay = Relay(network)
    keys = relay.carry_until("words")
    first = msgspec.msgpack.decode(keys[2], type=SignedStep)
    own, terms = network.owners["c"], network.sites["c"]._runs["job-1"].build_negotiation()
    others = bytes(len(first.content))
    twin = sign_step(
        terms.build_terms(), "c", own.signs_with, "keys", [], first.content[:32] + others[32:]
    )
    words = [
        relay.ask("a", "words", keys),
        relay.ask("b", "words", [*keys[:2], twin]),
        relay.ask("c", "words", keys),
    ]
    assert all(words), network.told
    assert relay.ask("a", "range", [one for one in words if one]) is None
    assert "because of site 'c': it signed two messages" in relay.said("a")
    assert relay.servers["a"].rule == "because of site c"


def test_the_result_covers_every_sites_values(network, tmp_path) -> None:
    relay = Relay(network)
    last = relay.carry_until("done")
    assert all(relay.ask(site, "done", last) == b"" for site in SITES)
    found = [load_negotiated(tmp_path / site / "runs" / "job-1") for site in SITES]
    assert found[0] is not None
    assert found[0].limits is not None
    assert len(set(found)) == 1
    assert np.isfinite(found[0].limits).all()
    assert found[0].limits[0] < 0 < found[0].limits[1]


def write_numbers(path: Path) -> Path:
    """A file of two numeric columns, in which some cells are missing."""
    draw = np.random.default_rng(0)
    age, hours = draw.uniform(20, 80, 300), draw.uniform(0, 60, 300)
    high = age + hours + draw.normal(0, 10, 300) > 80
    lines = [
        f"{'' if number % 11 == 0 else round(one, 2)},{round(other, 2)},{'high' if is_high else 'low'}"
        for number, (one, other, is_high) in enumerate(zip(age, hours, high, strict=True))
    ]
    path.write_text("\n".join(["age,hours,income", *lines]) + "\n")
    return path


def quantising(source: Path, on: str) -> plans.Plan:
    tree = {
        "name": "numbers", "seed": 1,
        "data": {"source": str(source), "clients": 12, "columns": {"numeric": ["age", "hours"], "label": "income"}},
        "features": {"ranges": {"age": [20, 80], "hours": [0, 60]}, "missing": ["age"],
                     "quantise": {"columns": ["age"], "levels": 4, "trained_on": on}},
        "model": {"name": "logistic"}, "codec": {"name": "rr", "epsilon": 2, "clip": 0.05},
        "server": {"rounds": 2}, "negotiation": {},
    }  # fmt: skip
    return plans.parse(tree)


@pytest.mark.parametrize("on", ["tokens", "midpoints"])
def test_quantised_columns_need_only_the_secret(tmp_path, on) -> None:
    """The server, which lacks the secret, measures nothing itself; the model equals the simulation's."""
    simulated, deployed = rehearsed(quantising(write_numbers(tmp_path / "rows.csv"), on), tmp_path)
    assert simulated == deployed


def test_a_site_reads_new_rows_under_the_negotiated_secret(tmp_path) -> None:
    ready, _, owners = start_sites(
        quantising(write_numbers(tmp_path / "rows.csv"), "tokens"), tmp_path
    )
    deploy(ready.plan, sites_of(owners), tmp_path / "runs", test=str(ready.test))
    rows, found = None, []
    for one in owners:
        model = load(next((one.folder / "models").glob("*")))
        rows = make_up_rows(model) if rows is None else rows
        found.append(model.predict_proba(rows))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    assert found[0].std(axis=0).max() > 0
