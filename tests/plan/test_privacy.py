import re

import pytest

from tacit import plan
from tacit.data.named.catalogue import BUILT_IN
from tacit.errors import PlanError
from tacit.plan.presets.private_rule import TABLES, Inputs, inputs_of, rule

PRIVATE = {
    "privacy": {"preset": "private", "epsilon": 1.0, "delta": 1e-5},
    "data": {"source": "imdb", "clients": 5000},
}
TEXT = Inputs(text=True)


def test_a_preset_fills_in_what_the_plan_leaves_open():
    job = plan.parse(PRIVATE)
    assert (job.codec.name, job.codec.epsilon, job.codec.delta, job.codec.clip) == (
        "dp_sum",
        1.0,
        1e-5,
        1.0,
    )
    assert (job.features.text, job.features.buckets, job.features.rarity) == ("listed", 12_000, 0.3)
    assert (job.server.rounds, job.server.momentum, job.server.lr, job.server.soften) == (
        80,
        0.9,
        1.25,
        0.3,
    )
    assert (job.local.row_scale, job.local.lr, job.local.normalise) == ("root", 10.0, False)


def test_what_the_plan_says_itself_stays():
    job = plan.parse(
        {**PRIVATE, "features": {"buckets": 7}, "server": {"rounds": 3, "evaluate_every": 1}}
    )
    assert (job.features.buckets, job.features.text, job.server.rounds) == (7, "listed", 3)


def test_another_model_or_codec_takes_the_keys_it_has():
    job = plan.parse(
        {**PRIVATE, "codec": {"name": "gaussian"}, "model": {"name": "mlp", "hidden": [4]}}
    )
    assert (job.codec.name, job.codec.epsilon, job.codec.clip, job.model.name) == (
        "gaussian",
        1.0,
        1.0,
        "mlp",
    )
    assert (job.features, job.local.row_scale) == (plan.Features(), "root")


TABLE = {
    "privacy": {"epsilon": 8.0},
    "data": {"source": "x.csv", "clients": 2000, "columns": {"label": "y", "numeric": ["a", "b"]}},
    "model": {"name": "net:Quadratic"},
}


def test_a_network_gets_settings_with_which_it_leaves_its_initial_weights():
    job = plan.parse(TABLE)
    assert (job.local.optimizer, job.local.lr, job.local.row_scale) == ("sgd", 1.0, "root")
    assert (job.server.rounds, job.server.optimizer, job.server.lr) == (30, "momentum", 0.8333)
    assert job.features.numeric == "robust"
    assert plan.parse(plan.dump(job)) == job
    assert job.with_settings("server.rounds=60").server.lr == 0.4167


@pytest.mark.parametrize("own", [{"local": {"lr": 0.5}}, {"server": {"optimizer": "adam"}}])
def test_a_network_with_a_rate_of_its_own_gets_no_other(own):
    job, default = plan.parse({**TABLE, **own}), plan.Plan()
    assert job.local.row_scale == "mean"
    assert job.server.rounds == default.server.rounds
    assert job.server.momentum == default.server.momentum
    assert job.with_settings() == job


def test_words_that_stay_with_clients_go_with_the_preset():
    table = {
        "features": {"text": "words"},
        "model": {"name": "bilstm", "hidden": [8]},
        "private": {"words": "all"},
    }
    assert plan.parse({**PRIVATE, **table}).codec.epsilon == 1.0


def test_without_trust_each_round_has_its_share():
    job = plan.parse(
        {
            "privacy": {"preset": "no_trust", "epsilon": 8.0},
            "data": {"source": "imdb", "clients": 5000},
        }
    )
    assert (job.codec.name, job.codec.epsilon, job.server.rounds) == ("projunit", 1.6, 5)
    assert (job.local.normalise, job.local.row_scale, job.server.momentum) == (True, "mean", 0.8)


def test_a_filled_in_plan_written_out_is_the_same_plan():
    job = plan.parse(PRIVATE)
    assert plan.parse(plan.dump(job)) == job


def test_the_rule_grows_with_epsilon_and_clients_alike():
    assert rule(8.0, 1000, TEXT) == rule(1.6, 5000, TEXT)
    assert rule(0.1, 100, TEXT).words == 5000
    assert rule(50, 100_000, TEXT).words == 50_000
    assert rule(8.0, 5000, TEXT).rarity == 0.28


@pytest.mark.parametrize("inputs", [TEXT, Inputs(text=False, norm=2.0)], ids=["text", "table"])
def test_more_epsilon_never_takes_a_shorter_path(inputs):
    rates = [rule(epsilon, 5000, inputs).rate for epsilon in (0.1, 1, 2, 8, 50)]
    assert rates == sorted(rates)


def test_a_table_has_settings_of_its_own():
    job = plan.parse(
        {"privacy": {"preset": "private"}, "data": {"source": "cardio", "clients": 5000}}
    )
    assert (job.features.text, job.features.numeric, job.features.row_norm) == (
        "binary",
        "robust",
        None,
    )
    norm = (11 / 4) ** 0.5
    assert (job.server.rounds, job.server.soften) == (200, 0.0)
    assert (job.local.lr, job.features.constant) == (
        pytest.approx(3 / norm, 1e-3),
        pytest.approx(norm / 2, 1e-3),
    )


def test_rows_of_unknown_size_are_scaled_to_one_length():
    for table in (
        {"data": {"source": "mnist"}},
        {"data": {"source": "cardio"}, "features": {"numeric": "raw"}},
    ):
        job = plan.parse({"privacy": {"preset": "private"}, **table})
        assert (job.features.row_norm, job.local.lr, job.features.constant) == (1.0, 3.0, 0.5)


@pytest.mark.parametrize(
    ("columns", "inputs"),
    [
        ({"text": ["post"], "numeric": ["age"]}, TEXT),
        (
            {"numeric": ["age", "size", "weight", "year"], "categorical": ["town"]},
            Inputs(text=False, norm=2**0.5),
        ),
        ({"image": "scan"}, Inputs(text=False)),
        ({}, TEXT),
        (3, TEXT),
    ],
)
def test_what_rows_are_follows_from_the_columns_a_plan_names(columns, inputs):
    assert inputs_of({"data": {"source": "a.csv", "columns": columns}}) == inputs


def test_named_sets_without_text_are_known_without_reading_one():
    found = {
        one.name: (len(one.columns.numeric), len(one.columns.categorical))
        for one in BUILT_IN
        if not one.columns.text
    }
    assert found == TABLES


def test_a_plan_that_normalises_updates_gets_no_row_scale():
    job = plan.parse({**PRIVATE, "local": {"normalise": True}})
    assert (job.local.normalise, job.local.row_scale) == (True, "mean")


def test_clients_counted_by_the_rows_need_a_number():
    tree = {"privacy": {"preset": "private"}, "data": {"source": "a.csv", "partition": "client"}}
    with pytest.raises(
        PlanError,
        match=r"privacy\.clients is required with data\.partition = 'client': the number of clients",
    ):
        plan.parse(tree)


@pytest.mark.parametrize("epsilon", ["much", -1, 0])
def test_a_bad_epsilon_is_told_as_such(epsilon):
    with pytest.raises(PlanError, match=r"privacy\.epsilon"):
        plan.parse({"privacy": {"preset": "private", "epsilon": epsilon}})


@pytest.mark.parametrize(
    "preset",
    ["paper:rr-ldp", "paper:fedvocab", "paper:partfed", "paper:hashcomb", "paper:lazyinf", "none"],
)
def test_presets_without_a_promise_per_run_show_no_number(preset):
    job = plan.parse(
        {"privacy": {"preset": preset}, "data": {"source": "adult", "columns": {"quasi": ["age"]}}}
    )
    assert plan.dump(job)["privacy"] == {"preset": preset}


def test_a_promise_left_open_is_8_per_run_and_written_out():
    assert plan.dump(plan.parse({"privacy": {}}))["privacy"] == {
        "preset": "private", "epsilon": 8.0, "delta": 1e-5, "clients": 100,
    }  # fmt: skip
    assert plan.dump(plan.parse({"privacy": {"preset": "no_trust"}}))["privacy"] == {
        "preset": "no_trust", "epsilon": 8.0, "clients": 100,
    }  # fmt: skip


def test_a_promise_made_in_python_says_its_number():
    with pytest.raises(
        PlanError,
        match=r"computes no settings .*\.with_settings\('privacy\.preset=private'",
    ):
        plan.check(plan.Plan(privacy=plan.Privacy(preset="private")))


@pytest.mark.parametrize(
    "privacy",
    [
        plan.Privacy(epsilon=8.0, delta=1e-5),
        plan.Privacy(preset="no_trust", epsilon=8.0),
        plan.Privacy(preset="none"),
        plan.Privacy(preset="paper:rr-ldp"),
    ],
)
def test_a_preset_in_python_is_refused_with_the_call_that_resolves_it(privacy):
    with pytest.raises(PlanError) as refused:
        plan.check(plan.Plan(privacy=privacy))
    named = re.findall(r"'(privacy\.[^']+)'", str(refused.value))
    resolved = plan.Plan().with_settings(*named)
    assert resolved.privacy.preset == privacy.preset
    assert resolved.codec != plan.Plan().codec


@pytest.mark.parametrize(
    "codec",
    [{"name": "plain"}, {"name": "rr"}, {"name": "dp_sum", "epsilon": 50.0}, {"delta": 0.01}],
)
def test_a_codec_that_does_not_keep_the_promise_is_refused(codec):
    with pytest.raises(PlanError, match=r"codec must guarantee privacy\.epsilon = 1 per run"):
        plan.parse({**PRIVATE, "codec": codec})


def test_more_per_update_than_the_run_may_cost_is_refused():
    tree = {"privacy": {"preset": "no_trust", "epsilon": 8.0}, "codec": {"epsilon": 4.0}}
    with pytest.raises(PlanError, match=r"at most privacy\.epsilon = 8 per run"):
        plan.parse(tree)
