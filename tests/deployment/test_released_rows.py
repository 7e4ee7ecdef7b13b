"""Rows leave as the owner says: by his quasi-identifiers and columns, counted over everything that ever left, and written down."""

from __future__ import annotations

import csv
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import plan as plans
from tacit.data.k_anonymity import unpack_rows
from tacit.deployment import bodies
from tacit.deployment.bodies import SiteResponse
from tacit.deployment.deployable_plan import prepare_for_sites
from tacit.deployment.site.owner_site import OwnerSite
from tacit.errors import LedgerError
from tacit.privacy.policy import Limits, PrivacyUnit, SiteLedger
from tacit.protocol import messages
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import owner

COLUMNS = ("age", "sex", "zip", "note", "outcome")
UNIT = PrivacyUnit(one_client=True, quasi_identifiers=("age", "sex", "zip"))
POLICY = """
[allow]
models = ["logistic"]
codecs = ["plain"]
disclosures = ["clients", "rows", "classes", "ranges", "formats", "categories", "measures"]
[columns]
label = ["outcome"]
text = ["note"]
numeric = ["age"]
categorical = ["sex", "zip"]
[limits]
no_epsilon = true
min_cohort = 1
[share]
columns = ["age", "sex", "zip", "outcome"]
min_k = 5
max_share = 1.0
generalise = {age = ["ranges 10", "ranges 15", "ranges 4"]}
"""


def write_rows(
    path: Path, cell: Callable[[int], dict[str, str]] = lambda number: {}, count: int = 240
) -> Path:
    """Write 20 rows for each age in tens and sex: ages 30 to 59, ten rows for each age in tens, sex and zip."""
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(COLUMNS)
        for number in range(count):
            row = {
                "age": str(30 + number % 30), "sex": "fm"[number // 30 % 2], "zip": f"z{number // 60 % 2}",
                "note": f"Mr. Nr{number}", "outcome": ["well", "ill"][number // 120 % 2],
            }  # fmt: skip
            lines.writerow({**row, **cell(number)}.values())
    return path


def job(share: dict[str, Any] | None = None, **columns: Any) -> plans.Plan:
    roles = {
        "numeric": ["age"],
        "categorical": ["sex", "zip"],
        "label": "outcome",
        "quasi": ["age", "sex", "zip"],
        **columns,
    }
    sharing = {"k": 5, "generalise": {"age": "ranges 10"}, **(share or {})}
    tree = {
        "name": "rows", "data": {"source": "given", "test": 0.0, "columns": roles, "share": sharing},
        "features": {"ranges": {"age": [0, 100]}} if "age" in roles["numeric"] else {}, "model": {"name": "logistic"},
        "codec": {"name": "plain"}, "server": {"rounds": 2, "weights": "rows"},
    }  # fmt: skip
    return prepare_for_sites(plans.parse(tree))


class Site:
    """A site over rows that may change between runs."""

    def __init__(self, folder: Path, policy: str = POLICY, **more: Any) -> None:
        self.told: list[str] = []
        self.folder, self.rows, self.count = folder / "a", folder / "rows.csv", 0
        write_rows(self.rows)
        self.owner = owner(
            "a", self.rows, self.folder, policy, **{"unit": UNIT, "tell": self.told.append, **more}
        )

    def taken(self, plan: plans.Plan, run: str | None = None) -> int | None:
        """Return how many rows a server gets in a run of a plan; None if it gets nothing."""
        self.count += 1
        server = HostileServer(OwnerSite(self.owner), plan, run or f"job-{self.count}")
        self.server = server
        opened = server.open()
        if opened is None or server.begin(opened, largest_weight=opened.largest_weight) is None:
            return None
        reply = server.send("rows", "disclose rows", b"")
        if server.status != "ok":
            return None
        frames = bodies.unpack(reply.body, SiteResponse).frames
        return sum(messages.parse(head, memoryview(body)).header.dim for head, body in frames)

    def book(self) -> SiteLedger:
        return SiteLedger(self.folder / "ledger.sqlite", limits=Limits(), delta=1e-5)


@pytest.fixture
def site(tmp_path) -> Site:
    return Site(tmp_path)


def test_rows_that_the_owner_lets_go_leave_and_are_written_down(site) -> None:
    assert site.taken(job()) == 240
    assert (
        "run job-1: hands over 240 of 240 rows in full (age, sex, zip, outcome); over all runs, at"
        " least 5 rows are alike in age, sex, zip" in site.told
    )
    with closing(site.book()) as book:
        book.verify()
        (entry,) = book.list_entries("disclosed")
    assert (entry["run"], entry["rows"], entry["rows_of_all_runs"]) == ("job-1", 240, 240)
    assert (entry["fewest_clients_alike"], entry["fewest_labels_alike"]) == (20, 2)


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "fewer quasi-identifiers": (
        {}, {"quasi": ["sex"]}, "site.toml: quasi_identifiers: the plan would release 'age' without counting equal rows in it",
    ),
    "the notes too": (
        {}, {"text": ["note"]}, "share.columns = ['age', 'sex', 'zip', 'outcome']: the plan would release the column 'note'",
    ),
    "the notes as quasi-identifier": (
        {}, {"quasi": ["age", "sex", "zip", "note"]}, "share.columns = ['age', 'sex', 'zip', 'outcome']: the plan would release",
    ),
    "a small k": ({"k": 4}, {}, "share.min_k = 5: the plan asks for k = 4"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_plan_cannot_choose_who_looks_alike(tmp_path, case) -> None:
    """Refused before a row is read: the file is gone."""
    share, columns, sentence = REFUSED[case]
    site = Site(tmp_path)
    site.rows.unlink()
    assert site.taken(job(share, **columns)) is None
    assert site.server.status == "policy"
    assert any(sentence in one for one in site.told), site.told
    assert not site.folder.joinpath("ledger.sqlite").exists()


def test_a_quasi_identifier_that_does_not_leave_need_not_be_counted(site) -> None:
    assert (
        site.taken(
            job({"generalise": {"zip": "suppress", "age": "ranges 10"}}, quasi=["age", "sex"])
        )
        == 240
    )


def test_without_quasi_identifiers_no_row_leaves(tmp_path) -> None:
    site = Site(tmp_path, unit=PrivacyUnit(one_client=True))
    assert site.taken(job()) is None
    assert (
        "site.toml: quasi_identifiers = []: no row may be released until this names the columns"
        in site.told[-1]
    )


def test_the_client_column_never_leaves(tmp_path) -> None:
    """Also where the owner lets every column go."""
    policy = POLICY.replace('columns = ["age", "sex", "zip", "outcome"]', 'columns = ["*"]')
    site = Site(tmp_path, policy, unit=PrivacyUnit(client="zip", quasi_identifiers=("age", "sex")))
    assert site.taken(job(categorical=["sex"], client="zip", quasi=["age", "sex", "zip"])) is None
    assert (
        "site.toml: client = 'zip': the plan would release this column, which is never released"
        in site.told[-1]
    )


def test_k_counts_people_and_not_their_rows(tmp_path) -> None:
    """A patient with twenty visits is one person: local counts alone would let all of these rows go."""
    policy = POLICY.replace("min_cohort = 1", "min_cohort = 1\nmin_clients_per_value = 1")
    site = Site(
        tmp_path, policy, unit=PrivacyUnit(client="note", quasi_identifiers=UNIT.quasi_identifiers)
    )
    write_rows(
        site.rows, lambda number: {"note": f"p{number % 3}", "age": "30", "zip": "z0", "sex": "m"}
    )
    assert site.taken(job(client="note")) is None
    assert (
        "share.min_k = 5: with all rows released in any run, 240 rows would be in groups of as few as 3 clients"
        in site.told[-1]
    )


def test_a_second_release_cannot_be_subtracted_from_the_first(site) -> None:
    """Different generalisations that are fine alone: together they tell groups of two from all others."""
    assert (
        site.taken(
            job({"generalise": {"age": "ranges 10", "zip": "suppress"}}, quasi=["age", "sex"])
        )
        == 240
    )
    fine = job(
        {"k": 8, "generalise": {"age": "ranges 15", "zip": "suppress"}}, quasi=["age", "sex"]
    )
    assert (
        site.taken(fine) == 240
    )  # groups of 10 and more: ages 30-39, 40-44, 45-49, 50-59, each of both sexes
    finest = job({"generalise": {"age": "ranges 4", "zip": "suppress"}}, quasi=["age", "sex"])
    assert site.taken(finest) is None
    assert "share.min_k = 5: with all rows released in any run" in site.told[-1]
    assert site.taken(fine) == 240
    with closing(site.book()) as book:
        book.verify()
        assert [entry["run"] for entry in book.list_entries("disclosed")] == [
            "job-1",
            "job-2",
            "job-4",
        ]


def test_what_would_leave_counts_before_anything_is_told_of_it(site) -> None:
    """Who keeps rows is told when a run begins: a server that asks for no rows afterwards has learnt something all the same."""
    for ranges, begun in (("ranges 15", True), ("ranges 4", False)):
        plan = job({"generalise": {"age": ranges, "zip": "suppress"}}, quasi=["age", "sex"])
        server = HostileServer(OwnerSite(site.owner), plan, f"only-{ranges.split()[1]}")
        opened = server.open()
        assert opened
        assert (server.begin(opened, largest_weight=opened.largest_weight) is not None) == begun
    assert server.rule == "share.min_k"
    with closing(site.book()) as book:
        assert [entry["run"] for entry in book.list_entries("disclosed")] == ["only-15"]


def test_alone_the_third_release_would_have_left(site) -> None:
    assert (
        site.taken(
            job({"generalise": {"age": "ranges 4", "zip": "suppress"}}, quasi=["age", "sex"])
        )
        == 240
    )


@pytest.mark.parametrize("change", ["one row more", "one row fewer", "one row changed"])
def test_a_row_that_came_or_went_alone_is_not_told_apart(site, change) -> None:
    """Whoever kept the first release would see the one row in which the second differs."""
    assert site.taken(job()) == 240
    cell = (
        (lambda number: {"age": "45" if number == 0 else str(30 + number % 30)})
        if change == "one row changed"
        else (lambda number: {})
    )
    write_rows(
        site.rows, cell, {"one row more": 241, "one row fewer": 239, "one row changed": 240}[change]
    )
    assert site.taken(job()) is None
    assert site.server.rule == "share.min_k, share.min_l"
    assert "rows would be in groups of as few as 1 clients" in site.told[-1]


def test_the_same_rows_in_another_order_are_the_same(site) -> None:
    assert site.taken(job()) == 240
    head, *lines = site.rows.read_text().splitlines()
    site.rows.write_text(
        "\n".join([head, *np.random.default_rng(0).permutation(lines).tolist(), ""])
    )
    assert site.taken(job()) == 240
    with closing(site.book()) as book:
        assert [entry["rows_of_all_runs"] for entry in book.list_entries("disclosed")] == [240, 240]


def test_one_label_is_no_protection(tmp_path) -> None:
    site = Site(tmp_path)
    write_rows(site.rows, lambda number: {"outcome": "ill" if number // 30 % 2 else "well"})
    assert site.taken(job()) is None
    assert site.server.rule == "share.min_l"


def test_labels_are_counted_over_all_releases(tmp_path) -> None:
    """Each release has both labels in every class, their difference has one."""
    site = Site(tmp_path)
    write_rows(site.rows, lambda number: {"outcome": "ill" if number % 30 // 5 % 2 else "well"})
    both = job({"generalise": {"age": "ranges 10", "zip": "suppress"}}, quasi=["age", "sex"])
    assert site.taken(both) == 240
    halves = job({"generalise": {"age": "ranges 15", "zip": "suppress"}}, quasi=["age", "sex"])
    assert site.taken(halves) is None
    assert site.server.rule == "share.min_l"
    assert "groups with as few as 1 different labels" in site.told[-1]


def test_all_runs_share_one_part_of_the_rows(tmp_path) -> None:
    """One half of the rows leaves; with the other half it would be more than the owner lets go, though each is less."""
    site = Site(tmp_path, POLICY.replace("max_share = 1.0", "max_share = 0.6"))
    for kept, gone in ((0, 120), (1, None)):

        def cell(number: int, kept: int = kept) -> dict[str, str]:
            alone = {} if number // 120 == kept else {"age": str(1000 * number)}
            return {"outcome": ["well", "ill"][number % 2], **alone}

        write_rows(site.rows, cell)
        assert site.taken(job()) == gone
    assert "share.max_share = 0.6: 240 of 240 rows would be released over all runs" in site.told[-1]


@pytest.mark.parametrize(("said", "rows"), [("", None), ('exact = ["note"]', 240)])
def test_a_column_with_values_of_single_people_needs_the_owners_word(tmp_path, said, rows) -> None:
    listed = POLICY.replace('"zip", "outcome"]\nmin_k', f'"zip", "note", "outcome"]\n{said}\nmin_k')
    site = Site(tmp_path, listed)
    assert site.taken(job(text=["note"])) == rows
    sentence = (
        "share.exact = []: the column 'note' would leave with values that fewer than 5 clients have"
    )
    assert any(sentence in one for one in site.told) == (rows is None)


def test_a_request_that_is_repeated_leaves_once(site) -> None:
    assert site.taken(job()) == 240
    reply = site.server.send("rows", "disclose rows", b"")
    assert reply.subject.status == "ok"
    with closing(site.book()) as book:
        assert len(book.list_entries("disclosed")) == 1
    ((head, body),) = bodies.unpack(reply.body, SiteResponse).frames
    frame = unpack_rows(
        body, ("age", "sex", "zip", "outcome"), messages.parse(head, memoryview(body)).header.dim
    )
    assert set(frame["age"]) == {34.5, 44.5, 54.5}


def test_rows_that_left_cannot_be_forgotten_unseen(site) -> None:
    assert site.taken(job()) == 240
    with closing(site.book()) as book, book._disk.writing() as db:
        db.execute("DELETE FROM released WHERE row IN (SELECT row FROM released LIMIT 1)")
    with (
        closing(site.book()) as book,
        pytest.raises(LedgerError, match="the released rows were changed"),
    ):
        book.verify()
    assert site.taken(job()) is None
    assert "the released rows were changed" in site.told[-1]
