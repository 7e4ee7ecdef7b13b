"""Each line of a policy, one at a time: what just fits is allowed, what goes beyond it is refused by its own sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tacit.extensions import Reference
from tacit.privacy.policy import (
    PrivacyUnit,
    Requirements,
    find_measures_too_costly,
    find_refusals,
    find_unit_refusals,
    parse_policy,
    refuse_rows,
)
from tacit.privacy.policy.policy import Policy
from tacit.privacy.policy.requirements import NO_POLICY
from tacit.runs.record import DisclosedRows

PINNED = Reference(f"mine.nets:Net@sha256:{'0' * 64}")

POLICY = parse_policy("""
[plans]
hashes = ["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]
[allow]
models = ["logistic", "mlp"]
codecs = ["gaussian"]
files = ["words.txt"]
disclosures = ["clients", "classes"]
baselines = ["fedavg"]
[columns]
label = ["outcome"]
text = ["note"]
numeric = ["age"]
categorical = ["ward"]
image = ["scan"]
split = ["fold"]
[limits]
max_epsilon_per_update = 1
max_epsilon_per_run = 2
max_epsilon_lifetime = 3
delta = 1e-5
max_rounds_per_run = 2000
min_cohort = 1000
max_message_bytes = 1000
max_parameters = 1000
max_local_steps = 1000
max_test_share = 0.25
[measures]
counts = "noisy"
[share]
columns = ["age", "outcome"]
min_k = 1000
min_l = 2
max_share = 0.5
""")
ASKED = Requirements(
    plan_hash="a" * 64,
    model="logistic",
    codec="gaussian",
    columns={
        "label": ("outcome",), "text": ("note",), "numeric": ("age",), "categorical": ("ward",), "image": ("scan",),
        "split": ("fold",),
    },
    epsilon_per_update=1.0,
    epsilon_per_run=2.0,
    delta=1e-5,
    rounds=2000,
    measures=1,
    epsilon_with_measures=2.0,
    test_share=0.25,
    cohort=1000,
    min_summed=1000,
    message_bytes=1000,
    parameters=1000,
    local_steps=1000,
    client="patient",
    k=1000,
    released=("age", "outcome"),
    key=("age",),
    files=("words.txt", "words.txt"),
    disclosures=("clients", "classes"),
    baselines=("fedavg",),
)  # fmt: skip

BEYOND: dict[str, tuple[dict[str, Any], str]] = {
    "plan": ({"plan_hash": "b" * 64}, f"plans.hashes: the plan {'b' * 64} is not among those that may run here"),
    "plan without a hash": ({"plan_hash": ""}, "plans.hashes: the plan without a hash is not among those that may run here"),
    "model": ({"model": "cnn"}, "allow.models = ['logistic', 'mlp']: the plan trains 'cnn'"),
    "codec": ({"codec": "plain"}, "allow.codecs = ['gaussian']: the plan sends updates with codec 'plain'"),
    "file": ({"files": ("/etc/pw", "/etc/pw")}, "allow.files = ['words.txt']: the plan reads '/etc/pw' on this machine"),
    "tell": ({"disclosures": ("ranges",)}, "allow.disclosures = ['clients', 'classes']: the plan needs 'ranges' in the clear"),
    "baseline": ({"baselines": ("central",)}, "allow.baselines = ['fedavg']: the plan runs 'central', which protects nothing"),
    "no columns": ({"columns": None}, "columns.label = ['outcome']: the plan names no columns and would choose them from the data"),
    "column": ({"columns": {"text": ("name",)}}, "columns.text = ['note']: the plan uses the column 'name' as text"),
    "role": ({"columns": {"numeric": ("note",)}}, "columns.numeric = ['age']: the plan uses the column 'note' as numeric"),
    "divided": (
        {"columns": {"by": ("name",)}},
        "columns: the plan divides rows by the column 'name', which is in no list",
    ),
    "code": ({"user_code": (Reference("mine.nets:Net"),)}, "allow.user_code: the plan names Python code, 'mine.nets:Net'; it is not installed on this machine, so it cannot be read or allowed"),
    "votes": ({"votes": True}, "allow.votes = false: the plan has clients vote on each other's updates"),
    "server": (
        {"trusts_server": True},
        "allow.trust_server = false: the plan's guarantee relies on trusting the server, and there is no [secure_aggregation]",
    ),
    "seed": ({"simulation_noise": True}, "allow.simulation_noise = false: the noise would come from a seed that others know"),
    "unbounded": (
        {"unbounded": True},
        "limits.no_epsilon = false: the plan has no epsilon per client and run, or none that is known before data is read",
    ),
    "unknown": (
        {"epsilon_per_run": None},
        "limits.no_epsilon = false: the plan has no epsilon per client and run, or none that is known before data is read",
    ),
    "update": (
        {"epsilon_per_update": 1.5},
        "limits.max_epsilon_per_update = 1 per client: the plan asks for 1.5 per client and update",
    ),
    "run": ({"epsilon_per_run": 2.5}, "limits.max_epsilon_per_run = 2 per client: the plan asks for 2.5 per client and run"),
    "delta": ({"delta": 2e-5}, "limits.delta = 1e-05 per run: the plan asks for 2e-05"),
    "rounds": ({"rounds": 2001}, "limits.max_rounds_per_run = 2,000: the plan has 2,001 rounds"),
    "cohort": ({"cohort": 999}, "limits.min_cohort = 1,000: the plan has a cohort of 999 clients"),
    "helpers": (
        {"min_summed": 999},
        "limits.min_cohort = 1,000: the plan's secure aggregation adds up as few as 999 clients; ask for a plan with a larger "
        "secure_aggregation.min_clients",
    ),
    "message": ({"message_bytes": 1001}, "limits.max_message_bytes = 1,000: a message of this plan has 1,001"),
    "parameters": ({"parameters": 1001}, "limits.max_parameters = 1,000: the model has at least 1,001"),
    "steps": ({"local_steps": 1001}, "limits.max_local_steps = 1,000: a client takes 1,001 steps in a round"),
    "held out": ({"test_share": 0.2512}, "limits.max_test_share = 0.25: the plan holds out 0.251 of the rows"),
    "k": ({"k": 999}, "share.min_k = 1,000: the plan asks for k = 999"),
    "released": (
        {"released": ("age", "note")},
        "share.columns = ['age', 'outcome']: the plan would release the column 'note'",
    ),
}  # fmt: skip


def test_what_just_fits_is_allowed() -> None:
    assert find_refusals(POLICY, ASKED) == []
    unknown = {
        "cohort": None,
        "min_summed": None,
        "message_bytes": None,
        "parameters": None,
        "local_steps": None,
    }
    assert (
        find_refusals(
            POLICY, replace(ASKED, **unknown, epsilon_per_update=None, k=None, released=("note",))
        )
        == []
    )
    assert find_refusals(POLICY, replace(ASKED, columns={"by": ("fold",)})) == []
    rounded = replace(ASKED, delta=1e-5 * (1 + 1e-9), test_share=0.25 * (1 + 1e-9))
    assert find_refusals(POLICY, rounded) == [], "what floating point adds is not counted"
    assert find_refusals(None, ASKED) == [NO_POLICY]
    assert (
        NO_POLICY
        == "there is no policy, so nothing is allowed; write one with `tacit site policy init`"
    )


@pytest.mark.parametrize("case", BEYOND)
def test_what_goes_beyond_one_line_is_refused_by_that_line(case: str) -> None:
    changes, sentence = BEYOND[case]
    assert find_refusals(POLICY, replace(ASKED, **changes)) == [sentence]


def test_the_budget_for_life_is_that_of_a_single_plan_too() -> None:
    tight = replace(POLICY, limits=replace(POLICY.limits, max_epsilon_lifetime=1.5))
    assert find_refusals(tight, ASKED) == [
        "limits.max_epsilon_lifetime = 1.5 per client: this plan alone asks for 2 per client"
    ]
    unset = replace(
        POLICY,
        limits=replace(POLICY.limits, max_epsilon_lifetime=None, max_epsilon_per_update=None),
    )
    assert find_refusals(unset, ASKED) == [
        "limits.max_epsilon_lifetime is not set: this plan alone asks for 2 per client"
    ]


def test_what_an_owner_switches_on_is_allowed() -> None:
    allow = replace(
        POLICY.allow, user_code=(PINNED,), votes=True, trust_server=True, simulation_noise=True
    )
    generous = replace(POLICY, allow=allow, limits=replace(POLICY.limits, no_epsilon=True))
    everything = replace(
        ASKED,
        user_code=(PINNED,),
        votes=True,
        trusts_server=True,
        simulation_noise=True,
        unbounded=True,
    )
    assert find_refusals(generous, everything) == []
    assert find_refusals(generous, replace(everything, epsilon_per_run=None)) == []


def test_a_star_allows_everything_of_its_kind_and_nothing_else() -> None:
    star = dict.fromkeys(("models", "codecs", "files"), ("*",))
    columns = replace(
        POLICY.columns,
        **dict.fromkeys(("label", "text", "numeric", "categorical", "image"), ("*",)),
    )
    open_wide = replace(
        POLICY,
        plans=replace(POLICY.plans, hashes=None),
        allow=replace(POLICY.allow, **star),
        columns=columns,
    )
    anything = {"model": "cnn", "codec": "plain", "files": ("/a",)}
    assert find_refusals(open_wide, replace(ASKED, plan_hash="", columns=None, **anything)) == []
    assert (
        find_refusals(open_wide, replace(ASKED, columns={"text": ("name",), "by": ("name",)})) == []
    )
    assert find_refusals(open_wide, replace(ASKED, columns={"split": ("name",)})) == [
        "columns.split = ['fold']: the plan uses the column 'name' as split"
    ]
    closed = replace(open_wide, columns=replace(columns, numeric=()))
    assert find_refusals(closed, replace(ASKED, columns=None)) == [
        "columns.numeric = []: the plan names no columns and would choose them from the data"
    ]
    share = replace(POLICY.share, columns=("*",))
    assert find_refusals(replace(POLICY, share=share), replace(ASKED, released=("name",))) == []


def test_rows_need_a_table_of_their_own() -> None:
    assert find_refusals(replace(POLICY, share=None), ASKED) == [
        "share: the policy has no [share] table, so no row may be released; the plan would release rows ([data.share])"
    ]
    assert find_refusals(replace(POLICY, share=None), replace(ASKED, k=None)) == []


def with_measures(counts: str, **limits: Any) -> Policy:
    return replace(
        POLICY,
        measures=replace(POLICY.measures, counts=counts),
        limits=replace(POLICY.limits, **limits),
    )


def test_exact_counts_are_told_in_the_clear() -> None:
    sentence = (
        "allow.disclosures = ['clients', 'classes']: "
        'measures.counts = "exact" sends counts in the clear; add "measures" to allow.disclosures, or set measures.counts = "noisy"'
    )
    assert find_refusals(with_measures("exact"), ASKED) == [sentence]
    assert find_refusals(with_measures("exact"), replace(ASKED, measures=0)) == []
    told = replace(
        with_measures("exact"),
        allow=replace(POLICY.allow, disclosures=("clients", "classes", "measures")),
    )
    assert find_refusals(told, ASKED) == []


def test_noisy_counts_that_cost_too_much_are_left_out() -> None:
    dear = replace(ASKED, epsilon_with_measures=2.5)
    said = (
        "limits.max_epsilon_per_run = 2 per client: with noisy counts the run's epsilon would be 2.5, so no counts"
        " are sent"
    )
    assert find_measures_too_costly(POLICY, dear) == said
    life = with_measures("noisy", max_epsilon_per_run=5.0, max_epsilon_lifetime=2.25)
    said = (
        "limits.max_epsilon_lifetime = 2.25 per client: with noisy counts the run's epsilon would be 2.5, so no"
        " counts are sent"
    )
    assert find_measures_too_costly(life, dear) == said
    assert find_measures_too_costly(POLICY, ASKED) == ""
    for policy, asked in (
        (with_measures("off"), dear), (with_measures("exact"), dear), (POLICY, replace(dear, measures=0)),
        (POLICY, replace(dear, epsilon_with_measures=None)),
    ):  # fmt: skip
        assert find_measures_too_costly(policy, asked) == ""


ROWS = DisclosedRows(
    rule="k", k=1000, l=None, release="quasi_only", counts="local", epsilon=None, delta=None, key=["age"], columns=["age"],
    rows=500, of_rows=1000, rows_per_client=[], bytes_per_client=[], classes=1, smallest_class=1000, unique_share=0.0,
    single_label_share=0.0, labels_disclosed={}, labels_kept={},
)  # fmt: skip


def test_rows_that_would_leave_are_judged_as_they_are() -> None:
    assert refuse_rows(POLICY, ROWS) == []
    found = {
        "smallest_class": (
            999,
            "share.min_k = 1,000: the smallest group that would be released has 999 rows",
        ),
        "single_label_share": (
            0.01234,
            "share.min_l = 2: 0.0123 of these rows are in groups with a single label",
        ),
        "rows": (501, "share.max_share = 0.5: 0.5010 of the rows would be released"),
        "columns": (
            ("age", "name"),
            "share.columns = ['age', 'outcome']: the plan would release the column 'name'",
        ),
    }
    for name, (value, sentence) in found.items():
        assert refuse_rows(POLICY, replace(ROWS, **{name: value})) == [sentence]
    without = replace(POLICY, share=None)
    assert refuse_rows(without, ROWS) == [
        "share: the policy has no [share] table, so no row may be released"
    ]
    assert refuse_rows(without, replace(ROWS, rows=0)) == []
    single = replace(POLICY, share=replace(POLICY.share, min_l=1))
    assert refuse_rows(single, replace(ROWS, single_label_share=1.0)) == []


UNIT = PrivacyUnit(client="patient", quasi_identifiers=("age",))
NO_CLIENT = (
    'site.toml: client is not set, so no plan may run; write client = "COLUMN", the column that'
    " names the person a row is about, or one_client = true if all rows of this site belong to one"
    " client"
)


def test_whom_budgets_belong_to() -> None:
    site = PrivacyUnit(one_client=True, quasi_identifiers=("age",))
    assert [str(one) for one in (UNIT, site, PrivacyUnit())] == [
        "client = 'patient'",
        "one_client = true",
        "no client",
    ]
    assert find_unit_refusals(UNIT, ASKED) == []
    assert find_unit_refusals(site, replace(ASKED, client=None)) == []
    for unit in (
        PrivacyUnit(quasi_identifiers=("age",)),
        PrivacyUnit(client="patient", one_client=True, quasi_identifiers=("age",)),
    ):
        assert find_unit_refusals(unit, ASKED) == [NO_CLIENT]
    assert find_unit_refusals(site, ASKED) == [
        "site.toml: one_client = true: the plan uses the client column 'patient'"
    ]
    assert find_unit_refusals(UNIT, replace(ASKED, client=None)) == [
        "site.toml: client = 'patient': the plan names no client column (data.columns.client), so"
        " all people here would share one budget"
    ]
    assert find_unit_refusals(UNIT, replace(ASKED, client="visit")) == [
        "site.toml: client = 'patient': the plan uses the client column 'visit', under which nobody has been charged yet"
    ]


def test_columns_that_point_at_a_person() -> None:
    never = (
        "site.toml: client = 'patient': the plan would release this column, which is never released"
    )
    assert find_unit_refusals(UNIT, replace(ASKED, released=("patient",))) == [never]
    assert find_unit_refusals(UNIT, replace(ASKED, key=("age", "patient"))) == [never]
    assert find_unit_refusals(UNIT, replace(ASKED, k=None, released=("patient",))) == [never]
    nobody = PrivacyUnit(client="patient")
    assert find_unit_refusals(nobody, ASKED) == [
        "site.toml: quasi_identifiers = []: no row may be released until this names the columns"
        ' that could identify a person, such as quasi_identifiers = ["age", "sex"]'
    ]
    assert find_unit_refusals(nobody, replace(ASKED, k=None)) == []
    uncounted = "site.toml: quasi_identifiers: the plan would release 'age' without counting equal rows in it; add it to "
    assert find_unit_refusals(UNIT, replace(ASKED, key=())) == [uncounted + "data.columns.quasi"]
    assert find_unit_refusals(UNIT, replace(ASKED, key=(), released=())) == []
    assert find_unit_refusals(UNIT, replace(ASKED, key=(), k=None)) == []
