"""Plans that a data owner's policy does not allow are refused by a sentence each, before any data is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tacit import codecs, data
from tacit.deployment.plan_requirements import compute_requirements
from tacit.plan import parse
from tacit.privacy.claim import Claim, GaussianNoise
from tacit.privacy.policy import Policy, Requirements, find_refusals, parse_policy

HONEST: dict[str, Any] = {
    "data": {
        "source": "visits.csv",
        "decimal": "point",
        "clients": 5000,
        "columns": {"text": ["note"], "numeric": ["age"], "label": "readmitted"},
    },
    "features": {"ranges": {"age": [0, 120]}, "missing": ["age"]},
    "codec": {"name": "gaussian", "epsilon": 2.0, "delta": 1e-5, "clip": 1.0},
    "server": {"rounds": 20},
}

POLICY = """
[plans]
hashes = ["HASH"]
[allow]
models = ["logistic"]
codecs = ["gaussian"]
disclosures = ["clients", "classes", "measures"]
[columns]
label = ["readmitted"]
text = ["note"]
numeric = ["age"]
[measures]
counts = "off"
[limits]
max_epsilon_per_update = 2
max_epsilon_per_run = 2
max_epsilon_lifetime = 10
max_rounds_per_run = 20
min_cohort = 100
max_message_bytes = 1_000_000
[share]
min_k = 50
"""


def plan_of(**changes: Any) -> Any:
    """Return the honest plan with other keys; a table that names another model or codec is taken whole."""
    tables = {
        name: new if "name" in new else {**HONEST.get(name, {}), **new}
        for name, new in changes.items()
    }
    return parse({**HONEST, **tables})


def policy_for(*asked: Requirements) -> Policy:
    return parse_policy(POLICY.replace('"HASH"', ", ".join(f'"{one.plan_hash}"' for one in asked)))


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "load", lambda *_, **__: pytest.fail("data was read"))


def test_the_honest_plan_is_allowed() -> None:
    asked = compute_requirements(plan_of(), parameters=10_000)
    assert find_refusals(policy_for(asked), asked) == []
    assert asked.epsilon_per_run == pytest.approx(2.0, abs=1e-4)
    assert asked.disclosures == ("clients", "classes")


def test_without_a_policy_nothing_is_allowed() -> None:
    (sentence,) = find_refusals(None, compute_requirements(plan_of()))
    assert "there is no policy" in sentence


def test_an_empty_policy_allows_nothing() -> None:
    found = "\n".join(find_refusals(Policy(), compute_requirements(plan_of())))
    for key in (
        "allow.models",
        "allow.codecs",
        "columns.label",
        "allow.disclosures",
        "limits.max_epsilon_per_run is not set",
    ):
        assert key in found


MALICIOUS: dict[str, tuple[dict[str, Any], str]] = {
    "epsilon raised": (
        {"codec": {"epsilon": 8.0}},
        "limits.max_epsilon_per_run = 2 per client: the plan asks for 8 per client and run",
    ),
    "more rounds": ({"server": {"rounds": 21}}, "limits.max_rounds_per_run = 20: the plan has 21 rounds"),
    "delta raised": ({"codec": {"delta": 1e-3}}, "limits.delta = 1e-05 per run: the plan asks for 0.001"),
    "k = 1": (
        {"data": {"share": {"k": 1, "rows_per_client": 5}, "columns": {**HONEST["data"]["columns"], "quasi": ["age"]}}},
        "share.min_k = 50: the plan asks for k = 1",
    ),
    "tiny cohort": (
        {"server": {"cohort": "count", "cohort_size": 2}},
        "limits.min_cohort = 100: the plan has a cohort of 2 clients",
    ),
    "forbidden column": (
        {"data": {"columns": {**HONEST["data"]["columns"], "text": ["note", "name"]}}},
        "columns.text = ['note']: the plan uses the column 'name' as text",
    ),
    "the note as label": (
        {"data": {"columns": {"numeric": ["age"], "label": "note"}}},
        "columns.label = ['readmitted']: the plan uses the column 'note' as label",
    ),
    "the note as category": (
        {"data": {"columns": {"categorical": ["note"], "label": "readmitted"}}, "features": {"ranges": {}}},
        "columns.categorical = []: the plan uses the column 'note' as categorical",
    ),
    "no columns named": ({"data": {"source": "hf:someone/visits", "columns": {}}}, "the plan names no columns"),
    "user code": ({"model": {"name": "evil.x:Net"}}, "allow.user_code: the plan names Python code, 'evil.x:Net'; it is not installed on this machine"),
    "other model": ({"model": {"name": "mlp", "hidden": [100]}}, "allow.models = ['logistic']: the plan trains 'mlp'"),
    "other codec": ({"codec": {"name": "plain"}}, "allow.codecs = ['gaussian']: the plan sends updates with codec 'plain'"),
    "no epsilon": ({"codec": {"name": "plain"}}, "limits.no_epsilon = false"),
    "wants ranges": ({"features": {"ranges": {}}}, "'measures']: the plan needs 'ranges' in the clear"),
    "vocabulary probe": (
        {"features": {"text": "words", "ranges": {}}, "model": {"name": "bilstm", "hidden": [50]}},
        "the plan needs 'words' in the clear",
    ),
    "row counts": ({"server": {"weights": "rows"}}, "the plan needs 'rows' in the clear"),
    "a file of ours": (
        {"features": {"text": "listed", "list": "/etc/shadow"}},
        "allow.files = []: the plan reads '/etc/shadow' on this machine",
    ),
    "a secret of ours": (
        {"codec": {"name": "hashcomb", "of": "weights", "agreed": "/home/owner/.ssh/id"}},
        "allow.files = []: the plan reads '/home/owner/.ssh/id' on this machine",
    ),
    "unprotected beside it": ({"baselines": ["fedavg"]}, "allow.baselines = []: the plan runs 'fedavg', which protects nothing"),
    "votes": ({"data": {"local_test": 0.3}, "filter": {}}, "allow.votes = false: the plan has clients vote on each other's updates"),
    "noise left to the server": (
        {"codec": {**HONEST["codec"], "name": "dp_sum"}},
        "allow.trust_server = false: the plan's guarantee relies on trusting the server",
    ),
    "oversized message": ({"features": {"buckets": 300_000}}, "limits.max_message_bytes = 1,000,000: a message of this plan has 1,2"),
}  # fmt: skip


@pytest.mark.parametrize("case", MALICIOUS)
def test_a_malicious_plan_is_refused_before_data_is_read(case: str) -> None:
    changes, sentence = MALICIOUS[case]
    tables = {key: value for key, value in changes.items() if key != "baselines"}
    plan = replace(plan_of(**tables), baselines=tuple(changes.get("baselines", ())))
    asked = compute_requirements(
        plan, parameters=300_000 if case == "oversized message" else 10_000
    )
    found = find_refusals(policy_for(compute_requirements(plan_of()), asked), asked)
    assert any(sentence in one for one in found), found
    assert all(one and "\n" not in one for one in found)


def test_an_unknown_plan_is_refused_by_its_hash() -> None:
    known, asked = (
        compute_requirements(plan_of()),
        compute_requirements(plan_of(server={"lr": 2.0})),
    )
    (sentence,) = find_refusals(policy_for(known), asked)
    assert (
        sentence == f"plans.hashes: the plan {asked.plan_hash} is not among those that may run here"
    )


def test_noise_from_a_seed_needs_permission() -> None:
    asked = replace(compute_requirements(plan_of()), simulation_noise=True)
    (sentence,) = find_refusals(policy_for(asked), asked)
    assert (
        sentence
        == "allow.simulation_noise = false: the noise would come from a seed that others know"
    )


def test_an_epsilon_that_grows_with_the_model_is_known_with_its_size() -> None:
    plan = plan_of(codec={"name": "rr", "epsilon": 0.001, "clip": 0.01})
    assert compute_requirements(plan).epsilon_per_run is None
    assert 0 < (compute_requirements(plan, parameters=100).epsilon_per_update or 0) < 0.1


def test_votes_count_against_the_limits_also_where_something_else_has_no_epsilon() -> None:
    """Heads in the clear have no epsilon, votes do: eight rounds of votes at 4 each exceed a cap of 8 per run before round one."""
    plan = plan_of(
        data={
            "local_test": 0.3,
            "columns": {
                "client": "patient",
                "text": ["note"],
                "numeric": ["age"],
                "label": "readmitted",
            },
        },
        filter={"vote_epsilon": 0.5, "testers": 8},
        server={"rounds": 8},
        codec={"name": "plain"},
    )
    asked = compute_requirements(plan, parameters=10_000)
    assert asked.unbounded
    assert asked.epsilon_per_run is not None
    assert asked.epsilon_per_run > 8
    policy = parse_policy(
        "[allow]\nvotes = true\n[limits]\nno_epsilon = true\nmax_epsilon_per_run = 8\nmax_epsilon_lifetime"
        " = 100\n"
    )
    found = [sentence for sentence in find_refusals(policy, asked) if "epsilon_per_run" in sentence]
    assert found == [
        f"limits.max_epsilon_per_run = 8 per client: the plan asks for {asked.epsilon_per_run:.6f} per"
        " client and run"
    ]


def test_a_codec_that_nobody_knows_is_refused_by_what_it_says_of_itself(monkeypatch) -> None:
    """A fourth codec that trusts the server passed: owners' refusals went by a list of three."""
    honest = plan_of()
    known = codecs.build(honest.codec, codecs.Extent(rounds=20, cohort=5000))

    def made(settings: object, extent: codecs.Extent) -> codecs.Codec:
        def claims(dim: int, cohort: int) -> tuple[Claim, ...]:
            return tuple(replace(claim, rests_on="server") for claim in known.claims(dim, cohort))

        return replace(known, name="made up", claims=claims)

    assert not compute_requirements(honest).trusts_server
    monkeypatch.setattr(codecs.gaussian, "make", made)
    for size in (None, 1000):
        assert compute_requirements(honest, parameters=size).trusts_server
    found = find_refusals(
        policy_for(compute_requirements(honest)), compute_requirements(honest, parameters=1000)
    )
    assert found == [
        "allow.trust_server = false: the plan's guarantee relies on trusting the server, and there is no [secure_aggregation]"
    ]


def test_whom_a_promise_rests_on_must_be_said() -> None:
    with pytest.raises(TypeError, match="rests_on"):
        Claim(
            mechanism="m", event=GaussianNoise(1.0), unit="update", relation="add or remove one client", view="server", trust=(),
            source="s",
        )  # type: ignore[call-arg]  # fmt: skip
    known = codecs.build(plan_of().codec, codecs.Extent(rounds=20, cohort=5000)).claims(10, 10)[0]
    with pytest.raises(ValueError, match="nobody, server, helpers, clients"):
        replace(known, rests_on="somebody")
    tree = known.to_json()
    assert Claim.from_json(tree) == known
    del tree["rests_on"]
    assert Claim.from_json(tree).rests_on == "server", (
        "the cautious reading of a record that does not say"
    )
