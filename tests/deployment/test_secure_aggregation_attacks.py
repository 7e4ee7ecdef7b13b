"""A malicious server against a secure aggregation between sites: it carries every key, plan and signature, and gains nothing.

Sites a, b and c know each other's signing keys; c is the helper. The server may send each of them something else.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import plan as plans
from tacit.column_statistics.statistics import merge_statistics
from tacit.deployment import bodies
from tacit.deployment.bodies import (
    BeginRequest,
    BeginResponse,
    Member,
    Offer,
    OfferResponse,
    SiteRequest,
    SiteResponse,
    StatisticsBody,
    Terms,
)
from tacit.deployment.confirmation import run_digest, sign_digest
from tacit.deployment.plan_requirements import compute_requirements
from tacit.deployment.server.job import deploy
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.owner_site import OwnerSite
from tacit.deployment.versions import write_settings
from tacit.privacy.policy import PrivacyUnit
from tacit.protocol import messages
from tacit.protocol.messages.signed_message import read
from tacit.randomness import Draws
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.secure_aggregation import HelperKey
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import GENEROUS, model_of, owner, sites_of
from tests.deployment.test_bound_runs import job, write_patients
from tests.simulation.small import small_plan, write_csv

SITES = ("a", "b", "c")
PATIENTS = 12
DP_SUM = {"name": "dp_sum", "epsilon": 1.0, "delta": 1e-5, "clip": 1.0}
SKELLAM = {"name": "skellam", "epsilon": 1.0, "delta": 1e-5, "clip": 1.0, "bits": 24}
SUMMED = {"helpers": 1, "min_clients": 10}
HELPS = "train: helper sums"


def plan_of(codec: dict[str, Any] = DP_SUM, **changes: Any) -> plans.Plan:
    return job(codec=codec, secure_aggregation={**SUMMED, **changes})


class Network:
    """Three honest sites and what a server says to each; sentences that a site tells its owner are kept by site."""

    def __init__(self, folder: Path, policy: str = GENEROUS, **of_owners: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.told: dict[str, list[str]] = {name: [] for name in SITES}
        rows = write_patients(folder / "rows.csv", PATIENTS)
        self.owners: dict[str, Owner] = {
            name: owner(name, rows, folder / name, policy, tell=self.told[name].append, **of_owners)
            for name in SITES
        }
        self.sites = {name: OwnerSite(one) for name, one in self.owners.items()}

    def server(self, site: str, planned: plans.Plan, run: str = "job-1") -> HostileServer:
        return HostileServer(self.sites[site], planned, run)

    def opened(
        self, planned: plans.Plan, **others: plans.Plan
    ) -> tuple[dict[str, HostileServer], dict[str, OfferResponse]]:
        servers = {name: self.server(name, others.get(name, planned)) for name in SITES}
        found = {name: one.open() for name, one in servers.items()}
        assert all(found.values()), self.told
        return servers, found  # type: ignore[return-value]

    def knows(self, site: str, peers: Callable[[], dict[str, bytes]]) -> None:
        """Change the peers of one site while it runs."""
        self.owners[site] = dataclasses.replace(self.owners[site], peers=peers)
        self.sites[site].owner = self.owners[site]
        for run in self.sites[site]._runs.values():
            run.owner = self.owners[site]


@pytest.fixture
def network(tmp_path) -> Network:
    return Network(tmp_path)


def terms_for(
    opened: dict[str, OfferResponse], helps: tuple[str, ...] = ("c",), **changes: Any
) -> Terms:
    members, first = [], 0
    for site, one in opened.items():
        counts = {
            "first": first,
            "clients": one.clients,
            "rows": one.rows,
            "test_rows": one.test_rows,
        }
        members.append(Member(site=site, nonce=one.nonce, **counts))
        first += one.clients
    given = {
        "run": "job", "public": b"p" * 32, "largest_weight": 1, "members": members, "helps": list(helps),
        "seen": StatisticsBody.of(merge_statistics([one.seen.statistics() for one in opened.values()])),
        "helpers": [opened[site].helper_key for site in helps],
    }  # fmt: skip
    return Terms(**{**given, **changes})


def begin(
    server: HostileServer, terms: Terms, confirmations: dict[str, bytes] | None = None
) -> BeginResponse | None:
    server.terms = terms
    body = bodies.pack(BeginRequest(terms=bodies.pack(terms), confirmations=confirmations or {}))
    reply = server.send("begin", "begin", body)
    if server.status != "ok":
        return None
    begun = bodies.unpack(reply.body, BeginResponse)
    server.dim = begun.dim
    return begun


def ask_helper(
    server: HostileServer, answers: list[SiteResponse], round_no: int = 1, exchange: str = HELPS
) -> SiteResponse | None:
    """Name all clients that answered to a helper, with their envelopes."""
    assert server.terms is not None
    envelopes, size = {}, 0
    for head, payload in (frame for one in answers for frame in one.frames):
        message = messages.parse(head, memoryview(payload))
        envelopes[message.header.sender] = message.payload[-192:]
        size = (len(message.payload) - 192) // 4
    names = np.array(sorted(envelopes), "<i8")
    payload = np.concatenate([names.view(np.uint8), *(envelopes[name] for name in names.tolist())])
    head, body = messages.frame(
        messages.Header(server.terms.run, round_no, 0, exchange, size, len(names), payload.nbytes),
        payload,
    )
    question = SiteRequest(
        to=np.array([1], "<i8").tobytes(), everyone=1, head=bytes(head), payload=bytes(body)
    )
    reply = server.send("help", exchange, bodies.pack(question), round_no)
    return bodies.unpack(reply.body, SiteResponse) if server.status == "ok" else None


def train(server: HostileServer, site: str) -> SiteResponse | None:
    assert server.terms is not None
    own = server.terms.find_member(site)
    return server.train(to=np.arange(own.first, own.first + own.clients))


def test_honest_sites_confirm_each_other_and_answer(network) -> None:
    """What all attacks below start from: with the same plan and terms everywhere the run goes its way."""
    servers, opened = network.opened(plan_of())
    terms = terms_for(opened)
    begun = {name: begin(server, terms) for name, server in servers.items()}
    confirmations = {name: one.confirmation for name, one in begun.items()}
    assert all(begin(server, terms, confirmations) for server in servers.values())
    answers = [train(server, name) for name, server in servers.items()]
    assert all(answers)
    part = ask_helper(servers["c"], answers)
    assert part
    trusted = "updates stay hidden unless the server and all helpers (c) collude"
    assert all(trusted in " ".join(said) for said in network.told.values()), network.told


@pytest.mark.parametrize("pinned", [False, True])
def test_the_server_puts_its_own_key_in_a_helpers_place(tmp_path, pinned) -> None:
    """Before, site a sealed its clients' keys to the server, also with the plan's hash pinned: it opened every update."""
    hashes = f'[plans]\nhashes = ["{compute_requirements(plan_of()).plan_hash}"]\n'
    network = Network(tmp_path, (hashes if pinned else "") + GENEROUS)
    servers, opened = network.opened(plan_of())
    honest = terms_for(opened)
    evil = msgspec.structs.replace(honest, helpers=[HelperKey.draw(Draws(b"e" * 32)).public()])
    assert begin(servers["c"], evil) is None
    assert (
        "the server put another key in the place of this site's own as a helper"
        in network.told["c"][-1]
    )
    begun = {
        name: begin(server, honest if name == "c" else evil) for name, server in servers.items()
    }
    assert train(servers["a"], "a") is None
    assert (
        "the other sites have not confirmed the plan and terms to this site"
        in network.told["a"][-1]
    )
    assert (
        begin(servers["a"], evil, {name: one.confirmation for name, one in begun.items()}) is None
    )
    assert (
        "site 'c' did not confirm the plan and terms that this site was sent; the server sent it"
        " others" in network.told["a"][-1]
    )
    assert train(servers["a"], "a") is None


def mixed(network: Network, servers: dict[str, HostileServer], terms: dict[str, Terms]) -> None:
    """The server sends sites different things and passes their true signatures on: a and c both refuse, and nothing leaves a."""
    begun = {name: begin(server, terms[name]) for name, server in servers.items()}
    assert all(begun.values()), network.told
    confirmations = {name: one.confirmation for name, one in begun.items()}
    for name in ("a", "c"):
        assert begin(servers[name], terms[name], confirmations) is None
        assert (
            "did not confirm the plan and terms that this site was sent; the server sent it others"
            in network.told[name][-1]
        )
    assert train(servers["a"], "a") is None
    servers["c"].send(
        "help", HELPS, bodies.pack(SiteRequest(to=b"", everyone=0, head=b"", payload=b"")), 1
    )
    assert servers["c"].status != "ok"
    assert "so it sends neither updates nor helper sums" in network.told["c"][-1]


def test_a_helper_is_told_another_plan(network) -> None:
    """Before, a helper that was told of a codec without noise at helpers, and of sets of one, opened one client's exact update."""
    other = plan_of({**SKELLAM, "bits": 32, "reporters": 0.05}, min_clients=1)
    servers, opened = network.opened(plan_of(), c=other)
    terms = terms_for(opened)
    mixed(network, servers, dict.fromkeys(SITES, terms))


def test_a_helper_is_told_of_fewer_clients(network) -> None:
    """Before, sites that were told of 30,000 clients made a tenth of the noise for a helper that was told of 450."""
    servers, opened = network.opened(plan_of(SKELLAM))
    few = terms_for(opened)
    assert few.clients == 3 * PATIENTS
    many = terms_for({**opened, "b": msgspec.structs.replace(opened["b"], clients=10_000)})
    begun = {name: begin(server, few if name == "c" else many) for name, server in servers.items()}
    assert begun["b"] is None
    assert "this site has 12 clients, but the terms say 10,000" in network.told["b"][-1]
    confirmations = {"a": begun["a"].confirmation, "c": begun["c"].confirmation}
    assert begin(servers["a"], many, confirmations) is None
    assert (
        "site 'b' has not confirmed this run's plan and terms; its signature is missing"
        in network.told["a"][-1]
    )
    assert begin(servers["a"], many, {**confirmations, "b": begun["c"].confirmation}) is None
    assert "site 'b' did not confirm" in network.told["a"][-1]
    assert train(servers["a"], "a") is None


@pytest.mark.parametrize("change", ["public", "largest_weight", "run", "order"])
def test_terms_differ_in_anything_at_all(network, change) -> None:
    servers, opened = network.opened(plan_of())
    terms = terms_for(opened)
    ways = {
        "public": lambda: msgspec.structs.replace(terms, public=b"q" * 32),
        "largest_weight": lambda: msgspec.structs.replace(terms, largest_weight=2),
        "run": lambda: msgspec.structs.replace(terms, run="another"),
        "order": lambda: terms_for({name: opened[name] for name in ("b", "a", "c")}),
    }
    mixed(network, servers, {"a": ways[change](), "b": terms, "c": terms})


def test_noise_of_a_seed_at_a_helper_and_real_noise_at_sites(network) -> None:
    """A helper whose owner allows simulated noise has a key that follows from the plan's seed; no site with real noise uses it."""
    server = network.server("c", plan_of())
    settings = write_settings(plan_of())
    offer = Offer(plan=server.text, settings=settings, simulated_noise=True)
    reply = server.send("open", "open", bodies.pack(offer))
    simulated = bodies.unpack(reply.body, OfferResponse)
    others = {name: network.server(name, plan_of()) for name in ("a", "b")}
    opened = {name: one.open() for name, one in others.items()}
    mixed(
        network,
        {**others, "c": server},
        dict.fromkeys(SITES, terms_for({**opened, "c": simulated})),
    )


STRANGE: dict[str, tuple[dict[str, Any], str]] = {
    "a helper that is no peer": (
        {"helps": ["z"], "helpers": [HelperKey.draw(Draws(b"z" * 32)).public()]},
        "helper 'z' is not in [peers] of site.toml, so its key may be the server's",
    ),
    "no helper": (
        {"helps": [], "helpers": []},
        "the plan has secure_aggregation.helpers = 1, got 0 sites and 0 keys",
    ),
    "one helper too many": (
        {"helps": ["b", "c"]},
        "the plan has secure_aggregation.helpers = 1, got 2 sites and 1 keys",
    ),
    "an identity of the server's": ({"identity": "x" * 64}, "the server names the run's identity"),
    "a downgrade of post-quantum seals": (
        {},
        "a helper's key is not of the kind that secure_aggregation.post_quantum = true needs",
    ),
}


@pytest.mark.parametrize("case", STRANGE)
def test_terms_that_a_site_does_not_begin_with(network, case) -> None:
    changes, sentence = STRANGE[case]
    post_quantum = "post-quantum" in case
    servers, opened = network.opened(plan_of(post_quantum=post_quantum))
    if post_quantum:
        changes = {"helpers": [HelperKey.draw(Draws(b"z" * 32)).public()]}
    assert begin(servers["a"], msgspec.structs.replace(terms_for(opened), **changes)) is None
    assert sentence in network.told["a"][-1]


def test_one_site_twice_as_helper(network) -> None:
    servers, opened = network.opened(plan_of(helpers=2))
    key = HelperKey.draw(Draws(b"z" * 32)).public()
    for helps, helpers in (
        (["c", "c"], [opened["c"].helper_key, key]),
        (["b", "c"], 2 * [opened["c"].helper_key]),
    ):
        assert begin(servers["a"], terms_for(opened, helps=tuple(helps), helpers=helpers)) is None
        assert "helpers must be different sites with different keys" in network.told["a"][-1]


def test_helpers_that_the_owner_does_not_accept(tmp_path) -> None:
    network = Network(tmp_path, helpers=lambda: ("a", "b"))
    servers, opened = network.opened(plan_of())
    assert begin(servers["a"], terms_for(opened)) is None
    assert "site.toml accepts the helpers ['a', 'b'], got 'c'" in network.told["a"][-1]


def test_without_peers_a_plan_with_helpers_is_refused_before_rows_are_read(tmp_path) -> None:
    told: list[str] = []
    unit = PrivacyUnit(client="patient")
    one = owner("a", tmp_path / "no such file.csv", tmp_path / "a", tell=told.append, unit=unit)
    own = {"a": one.signs_with.public_key().public_bytes_raw()}
    server = HostileServer(OwnerSite(dataclasses.replace(one, peers=lambda: own)), plan_of())
    assert server.open() is None
    assert (server.status, server.rule) == ("policy", "site.toml")
    assert "[peers] names no other site, so this site cannot tell whether" in told[-1]


def invented(opened: dict[str, OfferResponse], clients: int) -> dict[str, OfferResponse]:
    return {**opened, "z": msgspec.structs.replace(opened["a"], clients=clients, nonce=bytes(32))}


@pytest.mark.parametrize(("site", "codec"), [("c", DP_SUM), ("a", SKELLAM)])
def test_invented_sites(network, site, codec) -> None:
    """A helper adds up clients of its peers only; where clients make the noise together, so does every site."""
    servers, opened = network.opened(plan_of(codec))
    assert begin(servers[site], terms_for(invented(opened, 1000))) is None
    assert "[peers] of site.toml lacks z" in network.told[site][-1]


def test_invented_clients_do_not_make_a_cohort(tmp_path) -> None:
    """36 clients are at sites that a knows; the server names 1,036."""
    network = Network(tmp_path, GENEROUS.replace("min_cohort = 1\n", "min_cohort = 100\n"))
    servers, opened = network.opened(plan_of(min_clients=100))
    assert begin(servers["a"], terms_for(invented(opened, 1000))) is None
    assert servers["a"].rule == "limits.min_cohort"
    assert (
        "36 of the 1,036 clients that the server names are at sites in [peers] of site.toml"
        in network.told["a"][-1]
    )


def test_a_set_smaller_than_the_owners_least_cohort(tmp_path) -> None:
    network = Network(tmp_path, GENEROUS.replace("min_cohort = 1\n", "min_cohort = 20\n"))
    server = network.server("a", plan_of(min_clients=10))
    assert server.open() is None
    assert (
        "limits.min_cohort = 20: the plan's secure aggregation adds up as few as 10 clients"
        in network.told["a"][-1]
    )


def confirmed(
    network: Network, planned: plans.Plan, run: str = "job-1"
) -> tuple[dict[str, HostileServer], Terms, dict[str, bytes]]:
    """A run that all three sites have confirmed."""
    servers = {name: network.server(name, planned, run) for name in SITES}
    terms = terms_for({name: server.open() for name, server in servers.items()})
    confirmations = {name: begin(server, terms).confirmation for name, server in servers.items()}
    assert all(begin(server, terms, confirmations) for server in servers.values())
    return servers, terms, confirmations


def test_signatures_of_another_run_or_another_site(network) -> None:
    """Confirmations are for one run and one signer: neither those of an earlier run nor one site's under another's name count."""
    _, _, earlier = confirmed(network, plan_of(), "job-1")
    servers = {name: network.server(name, plan_of(), "job-2") for name in SITES}
    terms = terms_for({name: server.open() for name, server in servers.items()})
    begun = {name: begin(server, terms).confirmation for name, server in servers.items()}
    own = {"a": begun["a"], "b": begun["b"]}
    forged = sign_digest(Ed25519PrivateKey.generate(), "c", "0" * 64)
    for wrong in (earlier["c"], begun["b"], forged, bytes(64)):
        assert begin(servers["a"], terms, {**own, "c": wrong}) is None
        assert "site 'c' did not confirm the plan and terms" in network.told["a"][-1]
    assert begin(servers["a"], terms, own) is None
    assert "site 'c' has not confirmed this run's plan and terms" in network.told["a"][-1]
    assert begin(servers["a"], terms, begun)


def test_terms_of_another_run(network) -> None:
    """Each site's nonce is in the terms: those of another run, whatever its name, are not taken."""
    _, terms, confirmations = confirmed(network, plan_of(), "job-1")
    server = network.server("a", plan_of(), "job-2")
    assert server.open()
    assert begin(server, terms, confirmations) is None
    assert (
        "they lack this site's nonce for this run, so they are of another run"
        in network.told["a"][-1]
    )


def test_the_same_name_again_on_a_machine_that_was_set_up_anew(tmp_path) -> None:
    """Site a lost its folder. The server replays the old run's terms and signatures: seals would be bound to an old digest."""
    network = Network(tmp_path / "first")
    _, terms, confirmations = confirmed(network, plan_of())
    fresh = Network(tmp_path / "second")
    server = fresh.server("a", plan_of())
    assert server.open()
    assert begin(server, terms, confirmations) is None
    assert "they lack this site's nonce" in fresh.told["a"][-1]


def test_two_runs_at_the_same_time_share_no_seal(network) -> None:
    """The same plan, public name and sites in two runs: envelopes of one are not taken in the other."""
    first, _, _ = confirmed(network, plan_of(), "job-1")
    second, _, _ = confirmed(network, plan_of(), "job-2")
    answers = [train(server, name) for name, server in first.items()]
    assert ask_helper(second["c"], answers) is None
    assert (
        "client 0: its site's signature is not valid: the site signed for another plan, other terms"
        in network.told["c"][-1]
    )
    assert ask_helper(first["c"], answers)


def test_a_restarted_site_and_helper_go_on(network) -> None:
    servers, _, _ = confirmed(network, plan_of())
    for name, server in servers.items():
        server.site = OwnerSite(network.owners[name])
    answers = [train(server, name) for name, server in servers.items()]
    part = ask_helper(servers["c"], answers)
    servers["c"].site = OwnerSite(network.owners["c"])
    assert ask_helper(servers["c"], answers) == part
    assert ask_helper(servers["c"], answers[1:]) is None


def test_before_all_confirmed_a_restart_changes_nothing(network) -> None:
    servers, opened = network.opened(plan_of())
    assert begin(servers["a"], terms_for(opened))
    servers["a"].site = OwnerSite(network.owners["a"])
    assert train(servers["a"], "a") is None
    assert "the other sites have not confirmed" in network.told["a"][-1]


def test_a_peer_that_is_no_longer_known(network) -> None:
    """An owner takes a helper off the list during a run: nothing more leaves. The same at a helper, for a member."""
    servers, _, _ = confirmed(network, plan_of())
    known = network.owners["a"].peers()
    network.knows("a", lambda: {name: key for name, key in known.items() if name != "c"})
    assert train(servers["a"], "a") is None
    assert "helper 'c' is not in [peers]" in network.told["a"][-1]
    answers = [train(servers[name], name) for name in ("b", "c")]
    network.knows("c", lambda: {name: key for name, key in known.items() if name != "b"})
    assert ask_helper(servers["c"], answers) is None
    assert (
        "[peers] of site.toml lacks b, and a helper adds up clients of sites it knows"
        in network.told["c"][-1]
    )


def test_the_digest_covers_name_offer_and_terms() -> None:
    offer = Offer(plan="x")
    given = ("run", offer, b"terms")
    others = [("ru", Offer(plan="nx"), b"terms"), ("run", Offer(plan="y"), b"terms"), ("run", offer, b"term"),
              ("run", Offer(plan="x", simulated_noise=True), b"terms")]  # fmt: skip
    assert len({run_digest(*one) for one in (given, *others)}) == 5


def test_a_real_run_whose_sites_are_all_restarted_in_every_round(tmp_path) -> None:
    """With noise of the operating system: helpers and sites take up the run from their disks, and no round is lost."""
    plan = small_plan(
        write_csv(tmp_path / "reviews.csv"),
        codec={**DP_SUM, "epsilon": 50.0},
        secure_aggregation={"helpers": 2},
        server={"rounds": 3},
    )
    ready = prepare_rehearsal(plan, tmp_path / "rows", 3)
    owners = {
        name: owner(name, file, tmp_path / name)
        for name, file in zip("abc", ready.files, strict=True)
    }
    sites = sites_of(list(owners.values()))

    def restart(site: str, reply: bytes) -> bytes:
        if read(reply).subject.round_no:
            sites.transport.sites[site] = OwnerSite(owners[site])  # type: ignore[attr-defined]
        return reply

    sites.transport.spoil = restart  # type: ignore[attr-defined]
    place = deploy(ready.plan, sites, tmp_path / "runs", test=str(ready.test))
    assert model_of(place)
    assert not record.select_entries(list(record.read(place / RECORD)), record.Refused)
