"""The law of no coupling: changing one client's rows leaves all other clients' messages the same to the bit.

Without it the stated sensitivity is false: a client's rows would move a sum by more than that client's own message. What is told in
the clear before round one is the same in both worlds, since it is told and stated. So is the identity of the run, which chooses the
addresses of noise: noise at another address protects as well, but has other bits.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit import plan as plans
from tacit.assembly import token_rows
from tacit.data import clean
from tacit.data.k_anonymity import RowRelease, pack_rows
from tacit.data.k_anonymity import decide_release as disclose_offer
from tacit.deployment import bodies
from tacit.deployment.bodies import BeginRequest, Member, StatisticsBody, Terms
from tacit.deployment.bodies import Offer as OfferedPlan
from tacit.deployment.deployable_plan import prepare_for_sites
from tacit.deployment.site import run_opening, stored_runs
from tacit.deployment.site.site_side import SiteSide
from tacit.deployment.versions import write_settings
from tacit.plan.kinds import OWN, tables_in
from tacit.privacy.policy import PrivacyUnit
from tacit.protocol.exchanges.batch import train_each
from tacit.protocol.round import Exchange, Request, State
from tacit.protocol.site import Client, Site
from tacit.randomness import Draws
from tacit.rows import Lexicon
from tacit.runs.fingerprint import Fingerprints
from tacit.runs.record import RUN
from tacit.simulation.advice import first_round as first_round_module
from tacit.simulation.advice.first_round import FirstRound, first_round
from tacit.simulation.arm import SimulatedArm
from tacit.simulation.prepared_rows import trained_on
from tacit.training import Learner, Worker
from tacit.training.private.vocabulary import Vocabularies
from tests.deployment.local_post import owner
from tests.laws.coupling_cases import (
    CHANGED,
    CODECS,
    KINDS,
    MODULES,
    OTHERS,
    public_vectors,
    tree_of,
    write_world,
)
from tests.roles import decode

Frames = dict[str, bytes]
"""What each client sends, by its owner."""

EVERYBODY = sorted([CHANGED, *OTHERS])
MIXED = KINDS["words beside a table"]


@pytest.fixture(scope="module")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("worlds")
    for world in (0, 1):
        for ending in (".csv", ".parquet"):
            write_world(folder, world, ending)
    return folder


@pytest.fixture(autouse=True)
def same_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold the identity of a simulation, which is made of its plan and its rows."""
    monkeypatch.setattr(
        first_round_module,
        "compute_data_fingerprints",
        lambda plan, data: Fingerprints(identity="law"),
    )


@pytest.fixture(autouse=True)
def made_up_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_rows, "get_glove_vectors", public_vectors)


def source_of(worlds: Path, kind: dict[str, Any], world: int) -> str:
    return str(worlds / f"world-{world}{'.parquet' if 'image' in kind['columns'] else '.csv'}")


def moved(one: Frames, other: Frames) -> list[str]:
    """Return whose messages differ between two worlds."""
    assert list(one) == list(other) == EVERYBODY
    return [who for who in EVERYBODY if one[who] != other[who]]


def answers_of(site: Site, worker: Worker, exchange: Exchange, request: Request) -> Frames:
    """Return what each client answers, one by one; nothing of a client that has no rows left."""
    frames = [
        exchange.respond(Client(site, site.slot(name), worker), request) for name in site.names
    ]
    return {
        who: b"".join(map(bytes, frame or ())) for who, frame in zip(EVERYBODY, frames, strict=True)
    }


def updates_in_one_call(site: Site, worker: Worker, request: Request) -> Frames:
    """Return each client's update where all are trained in one call, as far as the learner does so."""
    found = train_each(
        site, worker, site.model(request), [site.slot(name) for name in site.names], 1
    )
    return {who: update.row.tobytes() for who, update in zip(EVERYBODY, found, strict=True)}


def simulated(
    stack: ExitStack, worlds: Path, kind: dict[str, Any], codec: str, **more: Any
) -> list[FirstRound]:
    """Return the first round of a simulation in both worlds."""
    trees = [
        tree_of(kind, CODECS[codec], source_of(worlds, kind, world), **more) for world in (0, 1)
    ]
    begun = [stack.enter_context(first_round(plans.parse(tree))) for tree in trees]
    assert begun[0].data.fitted == begun[1].data.fitted, "what is told is held"
    return begun


def at_a_site(
    worlds: Path, folder: Path, kind: dict[str, Any], codec: str, **more: Any
) -> list[SiteSide]:
    """Return a site's half of a run in both worlds, as the site builds it from an offer and from the same terms."""
    opened, halves, terms = [], [], b""
    for world in (0, 1):
        source = source_of(worlds, kind, world)
        planned = prepare_for_sites(
            plans.parse(tree_of(kind, CODECS[codec], source, **more)), simulated_noise=True
        )
        offer = OfferedPlan(
            plan=plans.to_toml(planned), settings=write_settings(planned), simulated_noise=True
        )
        one = owner(
            "a",
            Path(source),
            folder / str(world),
            unit=PrivacyUnit(client="who", quasi_identifiers=("ward",)),
        )
        run = run_opening.open_run(one, "law", bodies.pack(offer), stored_runs.hash_plan(offer))
        opened.append(run.respond_to_offer())
        if world == 0:
            terms = bodies.pack(_terms(opened[0], bool(more.get("secure_aggregation"))))
        run.begin(bodies.pack(BeginRequest(terms=terms)))
        assert run.built is not None
        assert [run.built.owner_of(name) for name in run.built.site.names] == EVERYBODY
        halves.append(run.built)
    assert opened[0].seen == opened[1].seen, "what is told is held"
    return halves


def _terms(opened: bodies.OfferResponse, helps: bool) -> Terms:
    member = Member(
        site="a", first=0, clients=opened.clients, rows=opened.rows, test_rows=opened.test_rows, nonce=opened.nonce
    )  # fmt: skip
    return Terms(
        run="law-1",
        identity="law",
        public=bytes(32),
        largest_weight=1000,
        seen=StatisticsBody.of(opened.seen.statistics()),
        members=[member],
        helpers=[opened.helper_key] if helps else [],
        helps=["a"] if helps else [],
    )


def test_no_codec_is_left_out() -> None:
    assert set(CODECS) == set(tables_in(plans.Codec)) - {OWN}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, *MODULES])
def test_a_client_s_rows_move_no_other_update_in_a_simulation(worlds: Path, kind: str) -> None:
    """Every codec for every kind of features; clients train one by one, and many in one call."""
    chosen = KINDS.get(kind) or MODULES[kind]
    with ExitStack() as stack:
        begun = simulated(stack, worlds, chosen, "plain")
        assert moved(
            *(
                updates_in_one_call(one.arm.site, one.arm.learner.worker(), one.request)
                for one in begun
            )
        ) == [CHANGED]
        for codec in CODECS if kind in KINDS else ("plain", "rr"):
            frames = []
            for world, one in enumerate(begun):
                job = plans.parse(tree_of(chosen, CODECS[codec], source_of(worlds, chosen, world)))
                arm = SimulatedArm(replace(one.arm.setting, data=one.data), RUN, job)
                request = arm.exchanges[0].build_request(replace(one.state, model=arm.arm.first()))
                frames.append(answers_of(arm.site, arm.learner.worker(), arm.exchanges[0], request))
            assert set(moved(*frames)) <= {CHANGED}, codec


@pytest.mark.parametrize(
    ("kind", "codec"),
    [
        *((kind, "rr") for kind in (*KINDS, *MODULES) if kind != "tokens of channels"),  # their secret is no server's to know
        *(("words beside a table", codec) for codec in CODECS),
    ],
)  # fmt: skip
def test_a_client_s_rows_move_no_other_update_at_a_site(
    worlds: Path, tmp_path: Path, kind: str, codec: str
) -> None:
    halves = at_a_site(worlds, tmp_path, KINDS.get(kind) or MODULES[kind], codec)
    frames = [
        answers_of(half.site, half.worker, half.exchanges["train"], question(half))
        for half in halves
    ]
    assert set(moved(*frames)) <= {CHANGED}
    together = [
        updates_in_one_call(half.site, half.learner.worker(), question(half)) for half in halves
    ]
    assert moved(*together) == [CHANGED]


def question(half: SiteSide) -> Request:
    """Return the question of the first round to everybody at a site."""
    return half.exchanges["train"].build_request(first_state(half.site, half.learner))


def first_state(site: Site, learner: Learner) -> State:
    model = (
        learner.initial(Draws.seeded(1)) if site.agreement.codec.decoded_by == "server" else None
    )
    return State(round_no=1, cohort=np.array(site.names), model=model, optimizer={})


@dataclass(frozen=True)
class Setup:
    """The clients of one world, in a simulation or at a site: what they are asked and what they answer."""

    site: Site
    learner: Learner
    exchanges: dict[str, Exchange]
    offer: Callable[[], list[pl.DataFrame]]

    def question(self, exchange: str) -> Request:
        return self.exchanges[exchange].build_request(first_state(self.site, self.learner))

    def answers(self, exchange: str, request: Request) -> Frames:
        return answers_of(self.site, self.learner.worker(), self.exchanges[exchange], request)

    def after_heads(self) -> State:
        """Return what the server knows once all heads have arrived."""
        heads, request = self.exchanges["heads"], self.question("heads")
        intake, total = request.intake(1000), heads.empty()
        for name in self.site.names:
            heads.receive(
                intake,
                total,
                heads.respond(
                    Client(self.site, self.site.slot(name), self.learner.worker()), request
                ),
            )
        return heads.close(first_state(self.site, self.learner), total).state

    def hidden(self, exchange: str, frames: Frames) -> Frames:
        """Return messages of which the envelope for helpers, which is sealed anew each time, is replaced by the keys inside."""
        sharing = getattr(self.exchanges[exchange], "sharing", None)
        if sharing is None:
            return frames
        clients = (Client(self.site, self.site.slot(name)) for name in self.site.names)
        keys = {
            who: b"".join(sharing._own_keys(client).shared)
            for who, client in zip(EVERYBODY, clients, strict=True)
        }
        return {
            who: frame[: -sharing.terms.envelope_size] + keys[who] for who, frame in frames.items()
        }

    def disclosed(self) -> Frames:
        return {who: pack_rows(rows) for who, rows in zip(EVERYBODY, self.offer(), strict=True)}


def set_up(
    stack: ExitStack, worlds: Path, folder: Path, place: str, kind: dict[str, Any], codec: str, **more: Any
) -> list[Setup]:  # fmt: skip
    """Return the clients of both worlds."""
    if place == "site":
        halves = at_a_site(worlds, folder, kind, codec, **more)
        return [
            Setup(
                half.site,
                half.learner,
                half.exchanges,
                lambda half=half: _released(half.encoded.offer),
            )
            for half in halves
        ]
    begun = simulated(stack, worlds, kind, codec, **more)
    return [
        Setup(
            one.arm.site,
            one.arm.learner,
            {each.name: each for each in one.arm.exchanges},
            lambda one=one: _offered(one),
        )
        for one in begun
    ]


def _released(offer: RowRelease | None) -> list[pl.DataFrame]:
    assert offer is not None
    return [offer.released_by(block) for block in range(len(EVERYBODY))]


def _offered(begun: FirstRound) -> list[pl.DataFrame]:
    """Return the rows each simulated client would send, decided as the run decides."""
    plan = begun.arm.plan
    table, clients = trained_on(plan)
    return _released(
        disclose_offer(table, clients, plan.data.share, Draws.seeded(plan.seed).at("share"))
    )


FILTER = {"lr": 0.5, "vote_epsilon": 4.0}
VOTES_ADDED_UP = {"lr": 0.5, "votes_epsilon": 8.0, "delta": 1e-3}
VOTING: dict[str, dict[str, Any]] = {
    "votes": {"filter": FILTER},
    "heads with noise": {"filter": {**FILTER, "protect": "record", "epsilon": 4.0, "clip": 1.0, "batch_rows": 4}},
    "mini-batches with noise": {"filter": {**FILTER, "protect": "record", "epsilon": 4.0, "clip": 1.0, "batch_rows": 4, "batch": 2, "epochs": 2}},
    "two layers with noise": {"filter": {**FILTER, "layers": 2, "protect": "record", "epsilon": 4.0, "clip": 1.0, "batch_rows": 4}},
    "heads are averaged": {"filter": {**FILTER, "aggregate": "heads"}},
    "votes added up": {"filter": VOTES_ADDED_UP, "secure_aggregation": {"helpers": 1, "min_clients": 2}},
}  # fmt: skip
HELD_OUT = {"local_test": 0.3}
WAYS = {"compiled": KINDS["words beside a table"], "private words": MODULES["private words"]}


@pytest.mark.parametrize("place", ["simulation", "site"])
@pytest.mark.parametrize(
    ("voting", "way"),
    [
        (voting, way)
        for voting in VOTING
        for way in WAYS
        if (voting, way) != ("heads are averaged", "private words")
    ],
)
def test_a_client_s_rows_move_no_other_head_or_vote(
    worlds: Path, tmp_path: Path, voting: str, way: str, place: str
) -> None:  # fmt: skip
    """The question to voters is the server's words, and the same in both worlds."""
    codec = "dp_sum" if "secure_aggregation" in VOTING[voting] else "plain"
    with ExitStack() as stack:
        setups = set_up(
            stack, worlds, tmp_path, place, WAYS[way], codec, data=HELD_OUT, **VOTING[voting]
        )
        heads = [one.answers("heads", one.question("heads")) for one in setups]
        assert moved(*heads) == [CHANGED]
        shown = setups[0].after_heads()
        votes = [
            one.answers("votes", one.exchanges["votes"].build_request(shown)) for one in setups
        ]
        assert set(
            moved(*(one.hidden("votes", frames) for one, frames in zip(setups, votes, strict=True)))
        ) <= {CHANGED}


@pytest.mark.parametrize("place", ["simulation", "site"])
@pytest.mark.parametrize("codec", ["rr", "dp_sum", "onebit", "skellam"])
def test_a_client_s_rows_move_no_other_share_of_a_secure_aggregation(
    worlds: Path, tmp_path: Path, codec: str, place: str
) -> None:
    secure = {"secure_aggregation": {"helpers": 1, "min_clients": 2}, "server": {"rounds": 1}}
    with ExitStack() as stack:
        setups = set_up(stack, worlds, tmp_path, place, MIXED, codec, **secure)
        frames = [
            one.hidden("train", one.answers("train", one.question("train"))) for one in setups
        ]
        assert set(moved(*frames)) <= {CHANGED}


@pytest.mark.parametrize(
    "codec", [name for name in CODECS if name not in ("onebit", "skellam", "hashcomb")]
)
def test_a_site_s_sum_moves_by_the_message_of_that_client_alone(
    worlds: Path, tmp_path: Path, codec: str
) -> None:
    """The sum without the client is the same to the bit; with it, the sums differ by its own messages, up to rounding of floats."""
    server_of = {"server": {"rounds": 1, "sum_at": "site", "weights": "equal"}}
    halves = at_a_site(worlds, tmp_path, MIXED, codec, **server_of)
    sums, whole, own = [], [], []
    for half in halves:
        train, request = half.exchanges["train"], question(half)
        names = np.array(half.site.names)
        changed = names[EVERYBODY.index(CHANGED)]
        some, every, alone = (
            train.respond_many(half.site, half.worker, request.part(part)).total
            for part in (names[names != changed], names, names[names == changed])
        )
        sums.append(some.pack().tobytes())
        whole.append(every)
        own.append(alone)
    assert sums[0] == sums[1]
    codec_made = halves[0].site.agreement.codec
    if codec_made.sum_noise is None:
        means = [
            decode(codec_made, total, Draws.seeded(0), Draws.seeded(0)).astype(np.float64)
            for total in (*whole, *own)
        ]
        count = len(EVERYBODY)
        np.testing.assert_allclose(
            count * (means[0] - means[1]),
            means[2] - means[3],
            atol=1e-5 * max(1, np.abs(means[2:]).max()),
        )


SHARE = {"rule": "k_anonymity", "k": 3}


def disclosing(counts: str) -> dict[str, Any]:
    data = {"share": {**SHARE, "counts": counts}}
    return {
        **KINDS["a table"],
        "columns": {**KINDS["a table"]["columns"], "quasi": ["ward"]},
        "data": data,
    }


@pytest.mark.parametrize("place", ["simulation", "site"])
def test_a_client_s_rows_move_no_row_that_others_disclose_by_counts_of_their_own(
    worlds: Path, tmp_path: Path, place: str
) -> None:
    kind = disclosing("local")
    with ExitStack() as stack:
        setups = set_up(stack, worlds, tmp_path, place, kind, "rr", data=kind["data"])
        rows = [one.disclosed() for one in setups]
        assert moved(*rows) == [CHANGED]
        assert len({*rows[0].values()}) > 2, "some disclose rows, some none"
        assert moved(*(one.answers("train", one.question("train")) for one in setups)) == [CHANGED]


def test_counts_over_all_clients_are_the_stated_exception(worlds: Path, tmp_path: Path) -> None:
    """Where k counts everybody's rows, one client's rows help to decide which rows of others leave; never what such a row says.

    Rows of others that look like the changed ones in the key columns may leave or stay, and with them what their owners train on.
    No epsilon speaks of disclosed rows (docs/concepts/mechanisms/k-anonymity.md). Given what leaves, nothing else moves: a client that discloses the same
    rows in both worlds sends the same update.
    """
    kind = disclosing("global")
    with ExitStack() as stack:
        for k, moves in ((3, False), (12, True)):
            data = {"share": {**kind["data"]["share"], "k": k}}
            setups = set_up(stack, worlds, tmp_path / str(k), "simulation", kind, "rr", data=data)
            others = [who for who in moved(*(one.disclosed() for one in setups)) if who != CHANGED]
            trained = set(
                moved(*(one.answers("train", one.question("train")) for one in setups))
            ) - {CHANGED}
            assert bool(others) == moves
            assert trained <= set(others)


def _with_medians(series: pl.Series, written: Any, *more: Any) -> Any:
    numbers, *rest = _AS_NUMBER(series, written, *more)
    return numbers.fill_null(numbers.median()), *rest


def _spread_over_all(
    self: Vocabularies, private: plans.Private, lexicon: Lexicon, *rest: Any
) -> None:
    _BEGIN(self, private, lexicon, *rest)
    self.spread = float(len(lexicon.words))


_AS_NUMBER, _BEGIN, LOAD = (
    clean._to_numbers,
    Vocabularies.__init__,
    import_module("tacit.data.load"),
)
TWINS: dict[str, tuple[str, Callable[[pytest.MonkeyPatch], None]]] = {
    "a missing number is the median over all clients": ("a table", lambda patch: patch.setattr(clean, "_to_numbers", _with_medians)),
    "rows are held out by a permutation of all rows": ("pixels", lambda patch: patch.setattr(LOAD, "_get_owners", lambda *_: None)),
    "first vectors are as long as all clients' words say": (
        "private words", lambda patch: patch.setattr(Vocabularies, "__init__", _spread_over_all)
    ),
}  # fmt: skip


@pytest.mark.parametrize("place", ["simulation", "site"])
@pytest.mark.parametrize("twin", TWINS)
def test_the_law_finds_a_broken_twin(
    worlds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, twin: str, place: str
) -> None:  # fmt: skip
    kind, breaks = TWINS[twin]
    breaks(monkeypatch)
    with ExitStack() as stack:
        setups = set_up(stack, worlds, tmp_path, place, KINDS.get(kind) or MODULES[kind], "plain")
        found = moved(*(one.answers("train", one.question("train")) for one in setups))
    assert len(found) > len(EVERYBODY) // 2
