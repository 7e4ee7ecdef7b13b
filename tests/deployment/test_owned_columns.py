"""Who a client is, what a column may be used as and what is told of it are the owner's to say, whatever plan a server offers."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from tacit import plan as plans
from tacit.deployment.deployable_plan import prepare_for_sites
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.owner_site import OwnerSite
from tacit.deployment.site.site_folder import (
    SiteSettings,
    create_site,
    load_owner,
    read_site_settings,
)
from tacit.privacy.policy import Limits, PrivacyUnit, SiteLedger, parse_policy
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import GENEROUS, owner

WORDS = [
    "pain",
    "chest",
    "fever",
    "cough",
    "nausea",
    "stroke",
    "asthma",
    "ulcer",
    "gout",
    "lupus",
    "sepsis",
    "fracture",
]
COLUMNS = ("patient", "note", "visit", "ward", "age", "readmitted")
PATIENT = PrivacyUnit(client="patient")
DATA = {
    "source": "given",
    "test": 0.0,
    "columns": {"client": "patient", "text": ["note"], "label": "readmitted"},
}
CODEC = {"name": "projunit", "epsilon": 0.2, "clip": 1.0, "coordinates": 32}

OF_THE_OWNER = """
[allow]
models = ["logistic"]
codecs = ["projunit"]
disclosures = ["clients", "classes", "ranges", "formats", "categories", "measures"]
[columns]
label = ["readmitted", "ward"]
text = ["note"]
numeric = ["age"]
categorical = ["ward"]
[limits]
max_epsilon_per_run = 2
max_epsilon_lifetime = 4
max_rounds_per_day = 1000
min_cohort = 1
"""
"""Careful in everything that the tests are about."""


def write_rows(path: Path, patients: int = 300, **changes: Callable[[int], str]) -> Path:
    """Write two visits of each patient; `changes` replace a column's cells, by the patient's number."""
    draw = np.random.default_rng(1)
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(COLUMNS)
        for number in range(patients):
            for visit in range(2):
                note = f"Mr. Nr{number}: {' '.join(draw.choice(WORDS, 5, replace=False))}"
                row = {
                    "patient": f"p{number}", "note": note, "visit": f"v{number}-{visit}",
                    "ward": f"w{number % 5}", "age": str(20 + number % 60), "readmitted": draw.choice(["yes", "no"]),
                }  # fmt: skip
                lines.writerow(
                    {**row, **{name: cell(number) for name, cell in changes.items()}}.values()
                )
    return path


def job(**changes: Any) -> plans.Plan:
    columns = {
        "client": "patient",
        "text": ["note"],
        "label": "readmitted",
        **changes.pop("columns", {}),
    }
    tree: dict[str, Any] = {
        "name": "x", "data": {"source": "given", "test": 0.0, "columns": {key: value for key, value in columns.items() if value}},
        "features": {"text": "binary", "buckets": 64}, "model": {"name": "logistic"}, "codec": CODEC, "server": {"rounds": 2},
    }  # fmt: skip
    return prepare_for_sites(plans.parse({**tree, **changes}))


class Site:
    """A site with an owner, and what the owner was told."""

    def __init__(self, folder: Path, rows: Path, policy: str = OF_THE_OWNER, **more: Any) -> None:
        self.told: list[str] = []
        self.folder = folder / "a"
        self.owner: Owner = owner(
            "a", rows, self.folder, policy, **{"unit": PATIENT, "tell": self.told.append, **more}
        )
        self.site = OwnerSite(self.owner)

    def server(self, plan: plans.Plan, run: str = "job-1") -> HostileServer:
        return HostileServer(self.site, plan, run)

    def book(self) -> SiteLedger:
        return SiteLedger(self.folder / "ledger.sqlite", limits=Limits(), delta=1e-5)


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> Path:
    return write_rows(tmp_path_factory.mktemp("rows") / "rows.csv")


@pytest.fixture
def site(tmp_path, rows) -> Site:
    return Site(tmp_path, rows)


def test_the_plan_the_owner_has_in_mind_is_answered(site) -> None:
    server = site.server(job()).start()
    assert server.train()
    assert [one for one in site.told if "tells the server" in one] == [
        "run job-1: tells the server: 300 clients, 600 rows, 2 classes of 'readmitted'; each class"
        " and category is that of at least 10 clients"
    ]


OTHER_CLIENTS = {
    "visit": (
        "site.toml: client = 'patient': the plan uses the client column 'visit', under which nobody has been charged yet"
    ),
    "ward": (
        "site.toml: client = 'patient': the plan uses the client column 'ward', under which nobody has been charged yet"
    ),
    "": (
        "site.toml: client = 'patient': the plan names no client column (data.columns.client), so"
        " all people here would share one budget"
    ),
}


@pytest.mark.parametrize("client", OTHER_CLIENTS)
def test_no_budget_starts_anew_under_another_client_column(tmp_path, client) -> None:
    """The file of rows does not exist: nothing was read when the plan was refused."""
    site = Site(tmp_path, tmp_path / "none.csv")
    server = site.server(job(columns={"client": client}))
    assert server.open() is None
    assert (server.status, server.rule) == ("policy", "site.toml")
    assert site.told == [f"open of run job-1 refused: {OTHER_CLIENTS[client]}"]


def test_a_life_is_spent_once(site) -> None:
    """The attack: a server spends all that a life allows, and goes on under every other column and encoding."""
    spent = [run_all(site, f"run-{number}", job(server={"rounds": 10})) for number in range(3)]
    assert spent == [10, 10, 0]
    for number, columns in enumerate([{"client": "visit"}, {"client": "ward"}, {"client": None}]):
        assert site.server(job(columns=columns), f"other-{number}").open() is None
    encoded = job(data={**DATA, "encoding": "utf-16"})
    assert run_all(site, "encoded", encoded) == 0
    with closing(site.book()) as book:
        assert 3_900_000 < max(one.life.micro for one in book.totals()) <= 4_000_000
        assert len(book.totals()) == 300


def run_all(site: Site, run: str, plan: plans.Plan) -> int:
    """Return how many rounds were answered."""
    server = site.server(plan, run)
    opened = server.open()
    if opened is None or server.begin(opened) is None:
        return 0
    return sum(
        server.train(round_no=number) is not None for number in range(1, plan.server.rounds + 1)
    )


def test_how_a_file_is_read_is_not_the_plans_to_say(tmp_path) -> None:
    """Under another encoding a client would have another name, and a new budget."""
    rows = write_rows(tmp_path / "rows.csv", patient=lambda number: f"Müller {number}")
    names = []
    for encoding in (None, "cp1252", "latin-1"):
        site = Site(tmp_path / str(encoding), rows)
        server = site.server(
            job(data={**DATA, **({"encoding": encoding} if encoding else {})})
        ).start()
        assert server.train()
        with closing(site.book()) as book:
            names.append({one.person for one in book.totals()})
    assert names[0] == names[1] == names[2]


def test_a_site_that_says_nothing_of_its_clients_runs_nothing(tmp_path, rows) -> None:
    for unit in (PrivacyUnit(), PrivacyUnit(client="patient", one_client=True)):
        site = Site(tmp_path / str(unit.one_client), rows, unit=unit)
        for columns in ({}, {"client": None}):
            assert site.server(job(columns=columns)).open() is None
            assert (
                "site.toml: client is not set, so no plan may run; write client = " in site.told[-1]
            )


def test_one_client_is_said_and_not_assumed(tmp_path, rows) -> None:
    site = Site(tmp_path, rows, unit=PrivacyUnit(one_client=True))
    assert site.server(job()).open() is None
    assert (
        "site.toml: one_client = true: the plan uses the client column 'patient'" in site.told[-1]
    )
    opened = site.server(job(columns={"client": None}), "job-2").open()
    assert opened
    assert opened.clients == 1


def test_the_owner_cannot_change_the_client_column_by_a_slip(tmp_path, rows) -> None:
    site = Site(tmp_path, rows)
    assert site.server(job()).start().train()
    site.site = OwnerSite(replace(site.owner, unit=PrivacyUnit(client="visit")))
    assert site.server(job(columns={"client": "visit"}), "job-2").open() is None
    assert (
        "site.toml: client = 'visit': this site's ledger keeps its budgets under client = 'patient'"
        in site.told[-1]
    )


def test_rows_of_nobody_take_no_part(tmp_path) -> None:
    rows = write_rows(
        tmp_path / "rows.csv", patient=lambda number: " " if number < 20 else f" p{number} "
    )
    site = Site(tmp_path, rows)
    assert site.server(job()).start().train()
    assert "run job-1: 40 rows name nobody in the column 'patient' and are left out" in site.told
    with closing(site.book()) as book:
        assert {one.person for one in book.totals()} <= {
            site.owner.pseudonym(f"p{number}") for number in range(20, 300)
        }


NOT_FOR_THAT = {
    "columns.label": (
        {"label": "patient", "client": None, "text": ["note"]},
        "the column 'patient' as label",
    ),
    "columns.label ": ({"label": "note", "text": ["ward"]}, "the column 'note' as label"),
    "columns.categorical": (
        {"text": [], "categorical": ["note"]},
        "the column 'note' as categorical",
    ),
    "columns.numeric": ({"numeric": ["ward"]}, "the column 'ward' as numeric"),
    "columns.text": ({"text": ["visit"]}, "the column 'visit' as text"),
    "columns.split": ({"split": "visit"}, "the column 'visit' as split"),
}


@pytest.mark.parametrize("rule", NOT_FOR_THAT)
def test_a_column_is_used_only_as_the_owner_allows(tmp_path, rule) -> None:
    site = Site(tmp_path, tmp_path / "none.csv")
    columns, said = NOT_FOR_THAT[rule]
    server = site.server(job(columns=columns))
    assert server.open() is None
    assert rule.strip() in server.rule
    assert said in site.told[-1]


EVERY_ROLE = OF_THE_OWNER.replace('label = ["readmitted", "ward"]', 'label = ["*"]').replace(
    'categorical = ["ward"]', 'categorical = ["*"]'
)


@pytest.mark.parametrize(
    "columns",
    [
        {"label": "visit"},
        {"label": "note", "text": ["ward"]},
        {"text": [], "categorical": ["note"]},
        {"categorical": ["visit"]},
    ],
    ids=[
        "every visit a class",
        "every note a class",
        "every note a category",
        "every visit a category",
    ],
)
def test_a_column_that_names_people_is_told_of_nobody(tmp_path, columns) -> None:
    """Also where the owner allows every column in every role: 284 patient ids and 72 whole notes were told before."""
    site = Site(tmp_path, write_rows(tmp_path / "small.csv", 45), EVERY_ROLE)
    server = site.server(job(columns=columns))
    assert server.open() is None
    assert server.status in ("policy", "data")
    assert not any("Mr. Nr" in one or "v1-" in one for one in site.told)


def test_a_copy_of_the_client_column_is_no_label(tmp_path) -> None:
    rows = write_rows(tmp_path / "rows.csv", ward=lambda number: f"p{number}")
    site = Site(tmp_path, rows)
    server = site.server(job(columns={"label": "ward"}))
    assert server.open() is None
    assert (server.status, server.rule) == ("policy", "limits.min_clients_per_value")
    assert (
        "most rows have a value of 'ward' that fewer clients share, so it cannot be used as label"
        in site.told[-1]
    )


def test_rare_classes_are_told_to_nobody_and_their_rows_take_no_part(tmp_path) -> None:
    rows = write_rows(
        tmp_path / "rows.csv",
        ward=lambda number: "hiv" if number < 9 else "flu" if number % 2 else "gout",
    )
    site = Site(tmp_path, rows)
    server = site.server(job(columns={"label": "ward"}))
    opened = server.open()
    assert opened
    assert opened.seen.classes == ["flu", "gout"]
    rare = (
        "run job-1: 18 rows are left out: their class of 'ward' has fewer than 10 clients, or a"
        " name with invisible characters"
    )
    assert rare in site.told
    assert not any("hiv" in one for one in site.told)
    assert opened.rows == 582


def test_clients_are_counted_and_not_rows(tmp_path) -> None:
    """Nine patients with many visits each do not make a class."""
    rows = write_rows(tmp_path / "rows.csv", patient=lambda number: f"p{number % 9}" if number < 90 else f"p{number}",
                      ward=lambda number: "hiv" if number < 90 else "flu" if number % 2 else "gout")  # fmt: skip
    opened = Site(tmp_path, rows).server(job(columns={"label": "ward"})).open()
    assert opened
    assert opened.seen.classes == ["flu", "gout"]


def test_a_server_cannot_ask_who_has_a_class(tmp_path) -> None:
    """Terms without a class that the site told would show, by the clients without rows, whose class it is."""
    rows = write_rows(tmp_path / "rows.csv", ward=lambda number: "hiv" if number < 30 else "flu")
    site = Site(tmp_path, rows)
    server = site.server(job(columns={"label": "ward"}))
    opened = server.open()
    assert opened
    seen = msgspec.structs.replace(opened.seen, classes=["flu", "gout"])
    assert server.begin(opened, seen=seen) is None
    assert server.status == "terms"
    assert "terms refused: they lack classes that this site reported" in site.told[-1]
    assert server.begin(
        opened, seen=msgspec.structs.replace(opened.seen, classes=["flu", "gout", "hiv"])
    )


def test_too_many_classes_or_categories_are_refused(tmp_path, rows) -> None:
    policy = OF_THE_OWNER + "max_values_per_column = 4\n"
    for number, columns in enumerate([{"label": "ward"}, {"categorical": ["ward"]}]):
        site = Site(tmp_path / str(number), rows, policy)
        server = site.server(job(columns=columns))
        assert server.open() is None
        assert server.rule == "limits.max_values_per_column"
        assert "limits.max_values_per_column = 4: 'ward' has more values" in site.told[-1]


def test_rare_categories_are_unknown_here_and_told_to_nobody(tmp_path) -> None:
    rows = write_rows(
        tmp_path / "rows.csv", ward=lambda number: "psychiatry" if number < 9 else f"w{number % 3}"
    )
    site = Site(tmp_path, rows)
    server = site.server(job(columns={"categorical": ["ward"]})).start()
    assert server.terms
    assert server.terms.seen.categories == {"ward": ["w0", "w1", "w2"]}
    assert server.train()
    assert not any("psychiatry" in one for one in site.told)


NUMBERS = {"numeric": ["age"], "text": []}


def test_ranges_are_nobodys_own_values(tmp_path) -> None:
    """One patient of 118 years and one of 3: neither end is theirs, and both ends have ten clients beyond them."""
    rows = write_rows(
        tmp_path / "rows.csv",
        age=lambda number: {0: "3", 1: "118.25"}.get(number, str(21 + number % 60)),
    )
    for numeric in ("minmax", "robust"):
        opened = (
            Site(tmp_path / numeric, rows)
            .server(job(columns=NUMBERS, features={"numeric": numeric}))
            .open()
        )
        assert opened
        assert opened.seen.ranges == {"age": (20.0, 80.0)}


def test_an_owner_may_tell_exact_ranges(tmp_path, rows) -> None:
    policy = OF_THE_OWNER.replace('"ranges"', '"ranges", "exact_ranges"')
    opened = Site(tmp_path, rows, policy).server(job(columns=NUMBERS)).open()
    assert opened
    assert opened.seen.ranges == {"age": (20.0, 79.0)}


def test_a_range_that_is_agreed_is_not_told(tmp_path, rows) -> None:
    policy = OF_THE_OWNER.replace('"ranges", ', "")
    assert Site(tmp_path / "not", rows, policy).server(job(columns=NUMBERS)).open() is None
    opened = (
        Site(tmp_path, rows, policy)
        .server(job(columns=NUMBERS, features={"ranges": {"age": [0, 120]}}))
        .open()
    )
    assert opened
    assert opened.seen.ranges == {}


@pytest.mark.parametrize("patients", [1, 9])
def test_a_site_with_few_training_clients_tells_nothing(tmp_path, patients) -> None:
    site = Site(
        tmp_path, write_rows(tmp_path / "rows.csv", patients, readmitted=lambda number: "yes")
    )
    columns = {"client": "patient", "numeric": ["age"], "label": "readmitted"}
    server = site.server(job(data={"source": "given", "test": 0.0, "columns": columns}))
    assert server.open() is None
    assert server.status == "policy"
    assert "limits.min_clients_per_value = 10" in site.told[-1]


def test_the_minimum_is_the_owners_to_lower(tmp_path) -> None:
    site = Site(
        tmp_path, write_rows(tmp_path / "rows.csv", 3), OF_THE_OWNER + "min_clients_per_value = 1\n"
    )
    assert site.server(job()).open()


def test_what_was_told_is_in_the_ledger_once(site) -> None:
    server = site.server(job(columns={"categorical": ["ward"], "numeric": ["age"]}))
    assert server.open()
    assert server.open()
    with closing(site.book()) as book:
        book.verify()
        (told,) = book.list_entries("told")
    assert told["run"] == "job-1"
    assert told["unit"] == "client = 'patient'"
    assert told["told"]["seen"]["classes"] == ["no", "yes"]
    assert told["told"]["seen"]["categories"] == {"ward": ["w0", "w1", "w2", "w3", "w4"]}
    assert told["told"]["seen"]["ranges"] == {"age": [20.0, 80.0]}


def test_settings_are_written_and_read(tmp_path) -> None:
    given = SiteSettings(
        name="a", data="rows.csv", server="localhost:1", client='pa"tient', quasi_identifiers=("age", "Größe"), encoding="cp1252",
        header=False,
    )  # fmt: skip
    create_site(tmp_path / "a", given)
    assert replace(read_site_settings(tmp_path / "a"), peers=None) == given
    made = load_owner(tmp_path / "a")
    assert made.unit == PrivacyUnit(client='pa"tient', quasi_identifiers=("age", "Größe"))
    assert (made.encoding, made.header) == ("cp1252", False)
    create_site(tmp_path / "b", replace(given, client=None, one_client=True, header=None))
    assert load_owner(tmp_path / "b").unit.one_client
    create_site(tmp_path / "c", SiteSettings(name="c", data="rows.csv", server="localhost:1"))
    assert load_owner(tmp_path / "c").unit == PrivacyUnit()


def test_a_rehearsal_says_that_it_holds_nothing_back() -> None:
    assert parse_policy(GENEROUS).limits.min_clients_per_value == 1
    assert tomllib.loads(GENEROUS)["share"]["min_k"] == 1
