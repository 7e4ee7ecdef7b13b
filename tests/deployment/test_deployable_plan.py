"""What a network of sites cannot do is named, each setting by its own sentence; what a simulation only needs is left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tacit.deployment.deployable_plan import (
    prepare_for_sites,
    refuse_undeployable,
    remove_simulation_settings,
)
from tacit.errors import PlanError
from tacit.plan import GIVEN, Audit, Columns, Engine, Plan, parse
from tacit.plan.tables.corrupt import RandomLabels
from tacit.plan.tables.rows.public import Public
from tacit.plan.tables.rows.share import RowSharing
from tacit.plan.tables.secure_aggregation import SecureAggregation
from tests.deployment.agreements import plan_of

PLAN = plan_of()


def changed(table: str, **changes: Any) -> Plan:
    return replace(PLAN, **{table: replace(getattr(PLAN, table), **changes)})


CASES: dict[str, Plan] = {
    "corrupt: makes clients misbehave in a simulation; remove the table": replace(
        PLAN, corrupt=RandomLabels()
    ),
    "audit.canaries: are made-up clients of a simulation; remove the key": replace(
        PLAN, audit=Audit(canaries=100)
    ),
    "data.deal = 'every_round': the rows of real clients stay with them; use 'once'": changed(
        "data", deal="every_round"
    ),
    "regime = 'central': sites train together; use 'federated'": replace(PLAN, regime="central"),
    "public: takes the server's rows from the clients'; name public.source": replace(
        PLAN, public=Public()
    ),
    "private.words must be 'all': sites would have to disclose the words of a shared table first": (
        changed("features", text="words")
    ),
    "data.share.counts = 'global': needs [secure_aggregation] with helpers of at least 2, so that"
    " nobody sees the counts of one site; got 0": changed(
        "data", share=RowSharing(k=5, counts="global")
    ),
    "data.share.counts = 'stable': needs noise that no site knows, and sites cannot draw it"
    " together; use 'local' or 'global'": changed(
        "data", share=RowSharing(k=5, counts="stable", epsilon=1.0, delta=1e-5)
    ),
    "data.share.counts = 'with_test': counts test rows of all sites; use 'local' or 'global'": (
        changed("data", share=RowSharing(k=5, counts="with_test"))
    ),
    "server.rule: looks at single updates with rows of the center; use another rule": changed(
        "server", rule="zeno"
    ),
    "data.columns.label: needs the column to predict, since sites read files of their own; got nothing": changed(
        "data", columns=Columns(numeric=("age",))
    ),
}


@pytest.mark.parametrize("sentence", CASES)
def test_what_only_a_simulation_can_do_is_refused(sentence: str) -> None:
    for refuse in (prepare_for_sites, lambda plan: refuse_undeployable(plan, False)):
        with pytest.raises(PlanError) as error:
            refuse(CASES[sentence])
        assert str(error.value) == f"plan 'run' cannot run between sites\n  {sentence}"


def test_everything_is_named_at_once() -> None:
    with pytest.raises(PlanError) as error:
        prepare_for_sites(replace(PLAN, regime="central", corrupt=RandomLabels()))
    assert len(str(error.value).split("\n")) == 3


def test_a_secret_must_be_negotiated_unless_noise_is_simulated() -> None:
    alone = plan_of(codec={"name": "hashcomb", "of": "weights", "x_min": -0.35, "x_max": 0.35})
    with pytest.raises(PlanError) as error:
        prepare_for_sites(alone)
    assert str(error.value).endswith(
        "\n  codec.name = 'hashcomb': sites have no secret in common for tokens; add [negotiation], by which they"
        " agree on one"
    )
    assert prepare_for_sites(alone, simulated_noise=True).codec == alone.codec
    agreed = plan_of(codec={"name": "hashcomb", "of": "weights", "agreed": "secret"})
    assert prepare_for_sites(agreed).codec == agreed.codec
    tokens = plan_of(
        codec={"name": "rqm", "clip": 0.1, "margin": 0.1, "levels": 11, "tokens": True}
    )
    with pytest.raises(PlanError, match="sites have no secret in common for tokens"):
        prepare_for_sites(tokens)
    assert prepare_for_sites(tokens, simulated_noise=True).codec == tokens.codec


def test_what_has_no_meaning_at_a_site_is_left_out() -> None:
    plan = replace(PLAN, baselines=("fedavg",), engine=Engine(workers=7))
    plan = replace(
        plan, data=replace(plan.data, partition="client", by="ward", limit=5, validation=0.25)
    )
    read = remove_simulation_settings(plan)
    assert read == prepare_for_sites(plan)
    assert (read.data.source, read.data.partition, read.data.by, read.data.limit) == (
        GIVEN,
        "iid",
        None,
        None,
    )
    assert (read.data.validation, read.baselines, read.engine) == (0.0, (), Engine())
    assert (read.data.columns, read.data.test, read.server) == (
        plan.data.columns,
        plan.data.test,
        plan.server,
    )
    assert remove_simulation_settings(read) == read
    named = parse({"data": {"source": "adult"}, "codec": {"name": "plain"}})
    assert named.data.columns.label is None
    assert remove_simulation_settings(named).data.columns.label is not None, (
        "columns of a named set are written out"
    )


def test_what_sites_can_do_is_not_refused() -> None:
    """The other side of each sentence: a set of public rows by name, local counts, words that stay."""
    assert prepare_for_sites(replace(PLAN, public=Public(source="public.csv")))
    assert prepare_for_sites(changed("data", share=RowSharing(k=5, counts="local")))
    summed = replace(PLAN, secure_aggregation=SecureAggregation(helpers=2))
    shared = replace(PLAN.data, share=RowSharing(k=5, counts="global"))
    assert prepare_for_sites(replace(summed, data=shared))
    stay = replace(PLAN, private=replace(PLAN.private, words="all"))
    for text in ("words", "pieces"):
        assert prepare_for_sites(replace(stay, features=replace(PLAN.features, text=text)))
        with pytest.raises(PlanError, match=r"private\.words must be 'all'"):
            prepare_for_sites(changed("features", text=text))


def test_a_server_of_sites_keeps_words_of_its_own() -> None:
    own = replace(PLAN, private=replace(PLAN.private, parameters=("lstm.*",)))
    assert prepare_for_sites(own)
    assert prepare_for_sites(replace(own, data=replace(PLAN.data, share=RowSharing(k=5))))
