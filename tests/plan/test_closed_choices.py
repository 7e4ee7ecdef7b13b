"""Every choice that a plan declares is implemented: a word that nobody handles stops a run instead of doing something else.

Mypy says the same before: the functions named here match all choices and end in `assert_never`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Literal, get_args, get_origin

import numpy as np
import polars as pl
import pytest

from tacit import codecs, features, plan, server
from tacit.assembly.agreement import RunFacts
from tacit.assembly.exchanges import ServerParts, build_exchanges
from tacit.assembly.server_side import ServerRows, build_first_model, choose_member_pace
from tacit.assembly.warm_start import _training_settings as center_settings
from tacit.codecs import qsgd
from tacit.codecs.hashcomb.tokens import derive_round_key
from tacit.codecs.votes import head
from tacit.data.clients.divide import divide
from tacit.data.decimals import choose_formats, find_decimal_evidence
from tacit.data.k_anonymity import release, rules
from tacit.data.schema.apply import apply_schema
from tacit.data.schema.misfit import Misfit, MisfitRules, settle_misfits
from tacit.errors import PlanError
from tacit.features import tabular
from tacit.features.encoding import _encode_text
from tacit.features.fitting import _projection
from tacit.features.text import hashed_text
from tacit.plan import Plan
from tacit.plan.kinds import find_column_table, list_fields, tables_in
from tacit.plan.presets import privacy as presets_privacy
from tacit.plan.presets.privacy import expanded
from tacit.plan.tables import server as server_table
from tacit.plan.tables.local import problems as local_problems
from tacit.protocol.agreement import Agreement
from tacit.protocol.exchanges.contributor_heads import decide_votes
from tacit.protocol.exchanges.heads import Heads
from tacit.protocol.exchanges.train import Train
from tacit.randomness import Draws
from tacit.rows import Lexicon
from tacit.simulation.adversaries.behaviour import Misbehaving
from tacit.simulation.arm_clients import ArmClients
from tacit.simulation.baselines.arms import list_arms
from tacit.training import HeadPlace, compute_weights
from tacit.training.compiled.optimizer import build_rule as compiled_rule
from tacit.training.private.steps import ModuleParts, Training, _share_of_rate, train_locally
from tacit.training.private.vocabulary import Vocabularies
from tacit.training.unit import scales_by_root
from tests.slots import slot

UNKNOWN = "declared, and implemented by nobody"
ROOT = Draws.seeded(1)
FACTS = RunFacts(run="r", identity="i", clients=3, public=ROOT.publish(), largest_weight=1)
COLUMNS = plan.Columns(text=("t",), numeric=("n",), categorical=("c",), label="y", quasi=("n",))
FRAME = pl.DataFrame({"t": ["a b", "b"], "n": [1.0, 2.0], "c": ["x", "y"], "y": ["no", "yes"]})
ALL = plan.Features(category_clients=1)
ONLY_CATEGORIES = plan.Columns(categorical=("c",), label="y")
TABLE: Any = SimpleNamespace(train=FRAME, test=FRAME, columns=COLUMNS)
CLIENTS: Any = SimpleNamespace(
    order=np.arange(2), sizes=lambda: np.array([1, 1]), __len__=lambda: 2
)
ROWS = np.ones((3, 4), np.float32)


def choices(kind: Any) -> tuple[Any, ...]:
    """Return the choices of a key; nothing if it has no list of them."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    return next((found for one in get_args(kind) if (found := choices(one))), ())


def tables(table: type) -> Iterator[type]:
    yield table
    for field in list_fields(table).values():
        for inner in tables_in(field.annotation).values():
            yield from tables(inner)
        if each := find_column_table(field.annotation):
            yield from tables(each)


DECLARED = {
    f"{table.__name__}.{name}"
    for table in tables(Plan)
    for name, field in list_fields(table).items()
    if len(choices(field.annotation)) > 1
}


def unknown(table: Any, key: str) -> Any:
    """Return a table with a word that nobody handles; checking is gone round, as a word added to the declaration would."""
    object.__setattr__(table, key, UNKNOWN)
    return table


def train_with(settings: plan.Server) -> Train:
    made = codecs.build(plan.Plain())
    return Train(
        Agreement(run="r", identity="i", dim=4, codec=made, public=ROOT.publish(), server=settings),
        ROOT,
    )


def attack_of(kind: Any) -> Any:
    return kind(kind="mine.attacks:one") if kind is plan.OwnAttack else kind()


def votes_of(settings: Any) -> object:
    return Misbehaving(settings, np.array([True, True]), ROOT, rows_before=False).votes(
        slot(0), np.array([True]), np.array([1]), 9
    )


def server_with(key: str) -> plan.Server:
    return unknown(plan.Server(), key)


def share_with(key: str) -> plan.RowSharing:
    return unknown(plan.RowSharing(k=2), key)


def schema_with(key: str) -> plan.Schema:
    return plan.Schema(columns={"c": unknown(plan.ColumnSchema(type="date"), key)})


def features_with(key: str) -> plan.Features:
    return unknown(plan.Features(), key)


def wordings(key: str) -> Vocabularies:
    return Vocabularies(unknown(plan.Private(), key), Lexicon(words=("a", "b")), 3, 5)


def plan_with(**tables: Any) -> Plan:
    return Plan(data=plan.Data(source="x.csv"), **tables)


def filtered(key: str) -> plan.Filter:
    return unknown(plan.Filter(lr=0.1), key)


def ballots() -> server.Ballots:
    return server.Ballots.none(3)


def training(key: str) -> Training:
    private = unknown(plan.Private(), key)
    return Training(module=None, local=plan.Local(), private=private, batch=None)  # type: ignore[arg-type]


def token_decoder(key: str) -> object:
    settings = unknown(plan.HashComb(x_min=-1.0, x_max=1.0, levels=4), key)
    made = codecs.build(settings, codecs.Extent(rounds=1, cohort=1))
    assert made.keyed is not None
    held = made.keyed(b"k" * 16, 1)
    update = np.zeros(3, np.float32)
    sent = held.encode(update, {}, own=ROOT.for_client(), public=ROOT.publish())
    return held.prepare(update, update), sent


CONSUMERS: dict[str, Callable[[], object]] = {
    "Plan.regime": lambda: ArmClients._train(SimpleNamespace(regime=UNKNOWN), ServerParts()),  # type: ignore[arg-type]
    "Plan.baselines": lambda: list_arms(unknown_baseline()),
    "Plan.baseline_settings": (
        lambda: unknown(plan.Plan(), "baseline_settings").gives_baselines_own_settings
    ),
    "Privacy.preset": lambda: expanded({"privacy": {"preset": "paper:hashcomb"}}),
    "Data.partition": lambda: divide(
        TABLE, unknown(plan.Data(source="x", clients=2), "partition"), ROOT
    ),
    "Data.decimal": lambda: choose_formats(
        {"n": find_decimal_evidence(pl.Series(["1"]))}, UNKNOWN, True
    ),  # type: ignore[arg-type]
    "Data.deal": lambda: ArmClients._learner(_arm_with_deal()),  # type: ignore[arg-type]
    "Schema.misfits": lambda: settle_misfits(
        FRAME,
        [Misfit("n", "out of range", pl.Series([True, False]))],
        unknown(plan.Schema(), "misfits"),
        MisfitRules(),
    ),
    "ColumnSchema.type": lambda: apply_schema(FRAME, COLUMNS, schema_with("type")),
    "ColumnSchema.format": lambda: apply_schema(FRAME, COLUMNS, schema_with("format")),
    "RowSharing.rule": lambda: rules.find_allowed_counts(
        np.zeros((1, 1), np.int64), share_with("rule")
    ),
    "RowSharing.k_of": lambda: share_with("k_of").rows_alike,
    "RowSharing.release": lambda: release._choose_key(FRAME, COLUMNS, share_with("release")),
    "RowSharing.counts": lambda: release.decide_release(TABLE, CLIENTS, share_with("counts"), ROOT),
    "RowSharing.server_steps": lambda: choose_member_pace(
        share_with("server_steps"), plan.Local(), 1, 1
    ),
    "Features.text": lambda: _encode_text(FRAME, COLUMNS, features_with("text"), None, None),  # type: ignore[arg-type]
    "Features.fit": lambda: features_with("fit").is_bought,
    "Features.counts": lambda: hashed_text.weigh_entries(
        np.zeros(1, np.int32), np.ones(1, np.float32), features_with("counts"), None
    ),
    "Features.words": lambda: hashed_text._build_rule(features_with("words")),
    "Features.numeric": lambda: tabular._scale("n", np.ones(2), features_with("numeric"), None),  # type: ignore[arg-type]
    "Features.categorical": lambda: tabular.encode_slots(
        FRAME,
        ONLY_CATEGORIES,
        features_with("categorical"),
        features.fit(FRAME, ONLY_CATEGORIES, ALL),
    ),
    "Features.directions": lambda: _directions(),
    "Quantise.trained_on": lambda: features.quantise.quantise_column(
        "n", np.zeros(2, np.float32), quantise("trained_on"), b"s"
    ),
    "Quantise.selection": lambda: features.quantise.quantise_column(
        "n", np.zeros(2, np.float32), quantise("selection"), b"s"
    ),
    "Logistic.start": lambda: unknown(plan.Logistic(), "start").starts_at_zero,
    "Local.method": lambda: local_problems(SimpleNamespace(local=unknown(plan.Local(), "method"))),  # type: ignore[arg-type]
    "Local.optimizer": lambda: compiled_rule(unknown(plan.Local(), "optimizer")),
    "Local.schedule": lambda: _share_of_rate(unknown(plan.Local(), "schedule"), 1, 2),
    "Local.row_scale": lambda: scales_by_root(unknown(plan.Local(), "row_scale")),
    "Private.words": lambda: wordings("words"),
    "Private.adapt": lambda: train_locally(training("adapt"), ModuleParts((), ()), 3, ROOT),
    "Private.store": lambda: unknown(plan.Private(), "store").stores,
    "Private.start": lambda: wordings("start")._rotation(slot(0)),
    "Private.rows": lambda: wordings("rows").start(slot(0), ("a",)),
    "Private.spelling": lambda: wordings("spelling")._unit(slot(0), 0),
    "RR.decoder": lambda: _decoded(unknown(plan.RR(epsilon=1.0, clip=1.0), "decoder")),
    "RR.of": (
        lambda: codecs.build(unknown(plan.RR(epsilon=1.0, clip=1.0), "of")).prepare(
            ROWS[0], ROWS[0]
        )
    ),
    "HashComb.of": lambda: token_decoder("of"),
    "HashComb.selection": lambda: token_decoder("selection"),
    "HashComb.tokens": lambda: token_decoder("tokens"),
    "HashComb.token_bits": lambda: _paper_tokens("token_bits"),
    "HashComb.hash": lambda: derive_round_key(b"s", 1, UNKNOWN),  # type: ignore[arg-type]
    "DPSum.noise": lambda: codecs.build(
        unknown(plan.DPSum(epsilon=1.0, delta=1e-5, clip=1.0), "noise"),
        codecs.Extent(rounds=1, cohort=1),
    ),
    "QSGD.norm": lambda: qsgd.compute_norm(ROWS[0], UNKNOWN),  # type: ignore[arg-type]
    "Public.last_layer": lambda: build_first_model(
        plan_with(public=unknown(plan.Public(share=0.1), "last_layer")),
        _learner(),
        ROOT,
        ServerRows(public=ROWS),
    ),  # type: ignore[arg-type]
    "Public.optimizer": lambda: compiled_rule(
        center_settings(unknown(plan.Public(share=0.1), "optimizer"))
    ),
    "Filter.protect": lambda: head.choose_noise_scale(_protected(), 3, 2),
    "Filter.vote": lambda: decide_votes(ROWS, filtered("vote").vote),
    "Filter.rule": lambda: server.decide(filtered("rule"), ballots()),
    "Filter.aggregate": lambda: build_exchanges(
        SimpleNamespace(filter=filtered("aggregate"), secure_aggregation=None),
        FACTS,
        train_with(plan.Server()),
        SimpleNamespace(head=_head_place()),
    ),  # type: ignore[arg-type]
    **{
        f"{kind.__name__}.votes": lambda kind=kind: votes_of(unknown(attack_of(kind), "votes"))
        for kind in get_args(plan.Corrupt)
    },
    "Server.cohort": lambda: server.choose_cohort(server_with("cohort"), 3, ROOT),
    "Server.weights": lambda: compute_weights(server_with("weights"), np.ones(3, np.int64)),
    "Server.sum_at": lambda: plan.sums_at_site(plan_with(server=server_with("sum_at")), 3, 3),
    "Server.deliver_to": lambda: server_with("deliver_to").delivers_model,
    "Server.rule": lambda: train_with(server_with("rule")),
    "Server.optimizer": lambda: train_with(server_with("optimizer")),
}
"""For each key with a list of choices the function that a run cannot do without, called with a word that is not handled."""


def unknown_baseline() -> Plan:
    job = plan_with()
    object.__setattr__(job, "baselines", (UNKNOWN,))
    return job


def quantise(key: str) -> plan.Quantise:
    return unknown(plan.Quantise(levels=3), key)


def _arm_with_deal() -> SimpleNamespace:
    data = unknown(plan.Data(source="x"), "deal")
    given = SimpleNamespace(train=None, clients=None, corruption=None)
    setting = SimpleNamespace(data=given, draws=ROOT, module=None)
    return SimpleNamespace(
        setting=setting,
        plan=SimpleNamespace(data=data, local=None, model=None),
        regime="local_only",
        disclosure=None,
    )


def _directions() -> object:
    settings = unknown(plan.Features(project=2), "directions")
    public = pl.DataFrame({"i": [np.zeros((2, 2), np.uint8)] * 3}, schema={"i": pl.Object})
    reader: Any = SimpleNamespace(width=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tacit.features.fitting.image_numbers", lambda *given: ROWS)
        return _projection(plan.Columns(image="i"), settings, 4, reader, public)


def _decoded(settings: plan.RR) -> object:
    made = codecs.build(settings)
    total = made.empty(3)
    total.add(np.zeros(1, np.uint8), 1, ROOT.publish())
    return made.decode(total, public=ROOT.publish(), own=ROOT.for_server())


def _paper_tokens(key: str) -> object:
    settings = unknown(plan.HashComb(x_min=-1.0, x_max=1.0, levels=4, tokens="paper"), key)
    return codecs.build(settings, codecs.Extent(rounds=1, cohort=1)).payload_size(3)


def _protected() -> plan.Filter:
    return unknown(plan.Filter(lr=0.1, protect="client", epsilon=1.0, clip=1.0), "protect")


def _head_place() -> HeadPlace:
    return HeadPlace(start=0, inputs=1, outputs=2)


def _learner() -> Any:
    return SimpleNamespace(initial=lambda draws: ROWS[0])


def test_every_key_with_a_list_of_choices_is_named_here() -> None:
    assert set(CONSUMERS) == DECLARED


@pytest.mark.parametrize("key", sorted(DECLARED))
def test_a_word_that_nobody_handles_stops_the_run(key, monkeypatch) -> None:
    if key == "Privacy.preset":
        monkeypatch.delitem(presets_privacy._PRESETS, "paper:hashcomb")
    with pytest.raises((AssertionError, KeyError, TypeError, ValueError, PlanError)) as found:
        CONSUMERS[key]()
    assert UNKNOWN in str(found.value) or key in (
        "Privacy.preset",
        "HashComb.token_bits",
    ), "it fails by the word, and by nothing else"


def test_a_rule_without_an_implementation_stops_before_anybody_is_asked() -> None:
    """It was averaged plainly: a plan said that bad clients cannot lead the model, and they could."""
    with pytest.raises(AssertionError, match=UNKNOWN):
        train_with(server_with("rule"))
    given = server.Updates(names=np.arange(3), rows=ROWS, weights=np.ones(3, np.int64))
    with pytest.raises(AssertionError, match=UNKNOWN):
        server.combine(server_with("rule"), given, {})


def test_every_rule_of_a_plan_has_an_implementation() -> None:
    for rule in get_args(server_table.Rule):
        assert server.get_rule(unknown(plan.Server(), "rule").__class__(rule=rule)) is not None


def test_heads_are_never_sent_without_the_noise_of_an_unknown_protection() -> None:
    with pytest.raises(AssertionError, match=UNKNOWN):
        Heads(train_with(plan.Server()), _protected(), _head_place())
