"""What a plan asks of an owner follows from its settings and from its claims; nothing it needs is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tacit.plan import Columns, parse
from tacit.privacy.claim import Approximate, GaussianNoise, Open, Pure, Sampled
from tacit.privacy.policy import Requirements, derive_requirements
from tests.privacy.claims import ADD, claim

PLAN: dict[str, Any] = {
    "data": {
        "source": "visits.csv",
        "decimal": "point",
        "clients": 500,
        "columns": {
            "client": "patient",
            "numeric": ["age"],
            "categorical": ["ward"],
            "text": ["note"],
            "label": "outcome",
        },
    },
    "features": {"ranges": {"age": [0, 120]}, "missing": ["age"]},
    "codec": {"name": "plain"},
    "server": {"rounds": 20},
}
COLUMNS = PLAN["data"]["columns"]


def plan_of(**changes: Any) -> Any:
    """Return the plan with other keys in its tables; a table that has a name is taken whole."""
    tables = {
        name: new if "name" in new else {**PLAN.get(name, {}), **new}
        for name, new in changes.items()
    }
    return parse({**PLAN, **tables})


def facts(
    claims: Any = (), measured: Any = ((), 0), columns: Columns | None = None, **changes: Any
) -> Requirements:
    return derive_requirements(
        plan_of(**changes), "hash", claims, measured=measured, columns=columns
    )


def test_what_a_plan_says_of_itself() -> None:
    found = derive_requirements(plan_of(), "hash", (), message_bytes=17)
    assert found == Requirements(
        plan_hash="hash",
        model="logistic",
        codec="plain",
        columns={
            "numeric": ("age",),
            "categorical": ("ward",),
            "text": ("note",),
            "label": ("outcome",),
        },
        epsilon_per_update=0.0,
        epsilon_per_run=0.0,
        delta=1e-5,
        rounds=20,
        test_share=pytest.approx(0.2),
        cohort=500,
        message_bytes=17,
        client="patient",
        disclosures=("clients", "classes", "categories"),
    )


HALF, QUARTER = (claim(Approximate(0.5, 1e-9)),), (claim(Approximate(0.25, 1e-9)),)
"""Losses that add up as they are."""
SOME = {"cohort": "count", "cohort_size": 50, "rounds": 20}


def test_what_a_client_pays() -> None:
    found = facts([HALF, QUARTER])
    assert (found.epsilon_per_update, found.epsilon_per_run, found.unbounded) == (0.5, 15.0, False)
    assert facts([HALF], server=SOME, ledger={"participations": 3}).epsilon_per_run == 1.5
    assert facts([HALF], server=SOME, ledger={"participations": 30}).epsilon_per_run == 10.0
    assert facts([(claim(Open()),), ()]).unbounded
    unknown = facts(None)
    assert (unknown.epsilon_per_update, unknown.epsilon_per_run, unknown.unbounded) == (
        None,
        None,
        False,
    )
    assert unknown.epsilon_with_measures is None


def test_claims_about_a_sample_are_paid_in_every_round() -> None:
    sampled = [(claim(Sampled(GaussianNoise(4.0), 0.1), relation=ADD),)]
    whole, few = facts(sampled), facts(sampled, server=SOME, ledger={"participations": 3})
    assert few.epsilon_per_run == whole.epsilon_per_run
    assert whole.epsilon_per_run is not None
    assert whole.epsilon_per_update is not None
    assert 0 < whole.epsilon_per_update < whole.epsilon_per_run
    assert facts(sampled, server={"rounds": 40}).epsilon_per_update == whole.epsilon_per_update
    assert (
        facts(sampled, server=SOME, ledger={"participations": 2}).epsilon_per_run
        == whole.epsilon_per_run
    )


def test_measures_are_paid_beside() -> None:
    found = facts([HALF], (QUARTER, 4))
    assert (found.measures, found.epsilon_per_run, found.epsilon_with_measures) == (4, 10.0, 11.0)
    assert facts([HALF], ((), 4)).epsilon_with_measures is None
    assert facts(None, (QUARTER, 4)).epsilon_with_measures is None


def test_whom_a_promise_rests_on() -> None:
    by_server = claim(Pure(0.5))
    assert by_server.rests_on == "server"
    by_nobody = replace(by_server, rests_on="nobody")
    assert facts([(by_nobody,), (by_nobody, by_server)]).trusts_server
    assert not facts([(by_nobody,)]).trusts_server
    assert not facts([(claim(Open()),)]).trusts_server
    assert facts(None).trusts_server
    assert not facts(()).trusts_server


def test_rows_that_are_held_out() -> None:
    assert facts(data={"test": 0.5, "local_test": 0.2}).test_share == pytest.approx(0.6)


def test_how_many_are_asked() -> None:
    assert facts(server={"cohort": "count", "cohort_size": 7}).cohort == 7
    assert facts(data={"partition": "client"}).cohort is None


def test_the_smallest_set_that_helpers_add_up() -> None:
    secure, noise = {"min_clients": 30}, {"epsilon": 2.0, "delta": 1e-5, "clip": 1.0}
    assert facts().min_summed is None
    assert facts(codec={**noise, "name": "dp_sum"}, secure_aggregation=secure).min_summed == 30
    for name in ("skellam", "onebit"):
        assert facts(codec={**noise, "name": name}, secure_aggregation=secure).min_summed is None
        voted = plan_of(
            codec={**noise, "name": name, "reporters": 0.5},
            secure_aggregation=secure,
            filter={},
            data={"local_test": 0.3},
        )
        assert derive_requirements(voted, "hash", ()).min_summed == 30


def test_columns_by_role() -> None:
    assert facts(columns=Columns(client="patient")).columns == {}
    found = facts(columns=Columns(client="person", label="y", split="fold", quasi=("age",)))
    assert (found.columns, found.client) == ({"label": ("y",), "split": ("fold",)}, "person")
    named = replace(plan_of(), data=replace(plan_of().data, columns=Columns()))
    assert derive_requirements(named, "hash", ()).columns is None
    divided = replace(plan_of(), data=replace(plan_of().data, by="ward"))
    assert derive_requirements(divided, "hash", ()).columns == {
        "numeric": ("age",), "categorical": ("ward",), "text": ("note",), "label": ("outcome",), "by": ("ward",),
    }  # fmt: skip


QUASI = {"columns": {**COLUMNS, "quasi": ["age", "ward"]}}


def test_rows_that_would_leave() -> None:
    found = facts(data={**QUASI, "share": {"k": 9}}, server={"weights": "rows"})
    assert (found.k, found.released, found.key) == (
        9,
        ("age", "ward", "note", "outcome"),
        ("age", "ward"),
    )
    whole = facts(
        data={**QUASI, "share": {"k": 9, "k_of": "other_rows", "release": "whole_row"}},
        server={"weights": "rows"},
    )
    assert (whole.k, whole.released, whole.key) == (
        10,
        ("age", "ward", "note", "outcome"),
        ("age", "ward", "note"),
    )
    coarse = {
        "k": 9,
        "generalise": {
            "note": " suppress ",
            "age": "ranges 10",
            "ward": "csv lists/wards of all.csv 2",
        },
    }
    hidden = facts(data={**QUASI, "share": coarse}, server={"weights": "rows"})
    assert hidden.released == ("age", "ward", "outcome")
    assert hidden.files == ("lists/wards of all.csv",)
    assert (facts().k, facts().released, facts().key, facts().files) == (None, (), (), ())


def test_files_that_a_plan_names() -> None:
    assert facts(features={"text": "listed", "list": "mine.txt"}).files == ("mine.txt",)
    assert facts(features={"text": "listed", "list": "de"}).files == ()
    agreed = {"name": "hashcomb", "of": "weights", "agreed": "/home/owner/secret"}
    assert facts(codec=agreed).files == ("/home/owner/secret",)
    encoder = {"name": "encoder", "checkpoint": "my/encoder"}
    assert facts(model=encoder, features={"text": "pieces"}, private={"words": "all"}).files == (
        "my/encoder",
    )
    assert (
        facts(
            model={"name": "encoder", "checkpoint": "minilm"},
            features={"text": "pieces"},
            private={"words": "all"},
        ).files
        == ()
    )


def test_what_is_told() -> None:
    def told(**changes: Any) -> tuple[str, ...]:
        return facts(**changes).disclosures

    always = ("clients", "classes")
    assert (
        told(
            data={"columns": {"text": ["note"], "label": "outcome"}},
            features={"ranges": {}, "missing": None},
        )
        == always
    )
    assert told(server={"weights": "rows"}) == (*always, "rows", "categories")
    assert told(features={"ranges": {}}) == (*always, "ranges", "categories")
    assert told(features={"ranges": {}, "numeric": "raw"}) == (*always, "categories")
    assert told(data={"decimal": None}) == (*always, "formats", "categories")
    assert told(features={"missing": None}) == (*always, "formats", "categories")

    for text in ("words", "pieces"):
        for words, wanted in (("all", ()), ("none", ("words",)), ("digits", ("words",))):
            plan = replace(plan_of(), features=replace(plan_of().features, text=text))
            plan = replace(plan, private=replace(plan.private, words=words))
            assert derive_requirements(plan, "hash", ()).disclosures == (
                *always,
                "categories",
                *wanted,
            )


def test_classes_of_ones_own_and_votes() -> None:
    assert facts(model={"name": "package.module:Net"}).user_code == ("package.module:Net",)
    assert not facts().user_code
    assert not facts().votes
    assert facts(filter={}, data={"local_test": 0.3}).votes


def test_what_runs_beside_it_without_protection() -> None:
    assert facts().baselines == ()
    beside = replace(plan_of(), baselines=("fedavg", "local_only", "central", "fedavg"))
    assert derive_requirements(beside, "hash", ()).baselines == ("fedavg", "central")
    central = replace(beside, regime="central")
    assert derive_requirements(central, "hash", ()).baselines == ("central", "fedavg")
