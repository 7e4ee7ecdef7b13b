"""Rows that leave a site are judged one by one and written down first, under marks that only the site can make."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit.deployment.site.rows import row_release
from tacit.deployment.site.rows.row_release import release_rows
from tacit.errors import PolicyError, WireError
from tacit.privacy.policy import Policy, PrivacyUnit, RowToRelease, SharePolicy
from tacit.runs.record import DisclosedRows

SHARE = SharePolicy(columns=("age", "ward", "outcome"), min_k=2, min_l=1, max_share=1.0)
SHARED = DisclosedRows(
    rule="k_anonymity", k=2, l=None, release="columns", counts="local", epsilon=None, delta=None, key=["age"],
    columns=["age", "ward", "outcome"], rows=4, of_rows=1000, rows_per_client=[], bytes_per_client=[], classes=2, smallest_class=2,
    unique_share=0.0, single_label_share=0.0, labels_disclosed={}, labels_kept={},
)  # fmt: skip
SECRET = b"secret"


class Ledger:
    """Keeps what is written down."""

    def __init__(self, new: bool = True) -> None:
        self.new, self.said = new, list[Any]()

    def disclose(self, *given: Any) -> bool:
        self.said.append(given)
        return self.new


class Clients:
    """Two clients: the first has rows 0, 2 and 4, the second 1, 3 and 5."""

    order = np.array([0, 2, 4, 1, 3, 5])

    def __len__(self) -> int:
        return 2

    def sizes(self) -> np.ndarray:
        return np.array([3, 3])


def site(
    share: SharePolicy | None = SHARE,
    shared: DisclosedRows = SHARED,
    one_client: bool = False,
    **columns: Any,
) -> Any:
    """An owner with a policy, and what was built of six rows, of which four leave."""
    released = pl.DataFrame(
        {
            "age": [30, 30, 40, 40],
            "ward": ["a", "a", "a", "a"],
            "outcome": ["y", "n", "y", "n"],
            **columns,
        }
    )
    offer = SimpleNamespace(
        clients=Clients(), disclosed=np.array([0, 1, 3, 4]), released=lambda: released, label="outcome", key=["age"]
    )  # fmt: skip
    train = pl.DataFrame(
        {"mark": [bytes([row]) * 16 for row in range(6)]}, schema={"mark": pl.Binary}
    )
    rows = SimpleNamespace(owners=["Ann", "Bob"], marks="mark", table=SimpleNamespace(train=train))
    built = SimpleNamespace(
        encoded=SimpleNamespace(offer=offer), disclosed=lambda: shared, rows=rows, plan=SimpleNamespace(name="plan")
    )  # fmt: skip
    log = list[str]()
    owner = SimpleNamespace(
        require_policy=lambda: Policy(share=share), unit=PrivacyUnit(client=None if one_client else "patient", one_client=one_client),
        secret=SECRET, tell=log.append, log=log, pseudonym=lambda name: name.encode() * 4,
    )  # fmt: skip
    return owner, built


def test_what_is_written_down_before_rows_leave() -> None:
    (owner, built), book = site(), Ledger()
    release_rows(owner, "job-1", built, book)
    ((rows, of_rows, facts, share),) = book.said
    assert (of_rows, share) == (1000, SHARE)
    assert facts == {
        "run": "job-1",
        "plan": "plan",
        "columns": ["age", "ward", "outcome"],
        "key": ["age"],
    }
    labels = {text: hmac.digest(SECRET, f"label {text}".encode(), "sha256")[:16] for text in "yn"}
    alike = {age: hashlib.sha256(repr((["age"], (age,))).encode()).digest() for age in ("30", "40")}
    assert rows == [
        RowToRelease(bytes([mark]) * 16, who * 4, labels[label], alike[age])
        for mark, who, label, age in (
            (0, b"Ann", "y", "30"),
            (2, b"Ann", "n", "30"),
            (1, b"Bob", "y", "40"),
            (3, b"Bob", "n", "40"),
        )
    ]
    assert owner.log == [
        "run job-1: hands over 4 of 1,000 rows in full (age, ward, outcome); over all runs, at"
        " least 2 clients are alike in age"
    ]

    owner, built = site(shared=replace(SHARED, key=["age", "ward"]))
    release_rows(owner, "job-1", built, Ledger())
    assert owner.log[0].endswith("alike in age, ward")


def test_the_same_rows_are_said_once() -> None:
    (owner, built), book = site(), Ledger(new=False)
    release_rows(owner, "job-1", built, book)
    assert (owner.log, len(book.said)) == ([], 1)


def test_where_a_site_is_one_client_each_row_is_somebody() -> None:
    (owner, built), book = site(one_client=True), Ledger()
    release_rows(owner, "job-1", built, book)
    assert [row.person for row in book.said[0][0]] == [row.row for row in book.said[0][0]]
    assert owner.log[0].endswith("at least 2 rows are alike in age")


def test_rows_leave_only_as_the_policy_allows() -> None:
    book = Ledger()
    for share, shared, line in (
        (None, SHARED, "share: the policy has no"), (replace(SHARE, columns=("age",)), SHARED, "share.columns"),
        (SHARE, replace(SHARED, smallest_class=1), "share.min_k = 2"),
    ):  # fmt: skip
        owner, built = site(share, shared)
        with pytest.raises(PolicyError, match=line):
            release_rows(owner, "job-1", built, book)
    assert book.said == []
    owner, built = site(None, replace(SHARED, rows=0))
    release_rows(owner, "job-1", built, book)
    assert (book.said, owner.log) == ([], [])


def test_a_plan_that_shares_no_rows() -> None:
    owner, built = site()
    built.encoded.offer = None
    with pytest.raises(WireError) as error:
        release_rows(owner, "job-1", built, Ledger())
    assert str(error.value) == "request refused: the plan discloses no rows"


RARE = (
    "share.exact = {}: the column {!r} would leave with values that fewer than 2 clients have; make"
    " them coarser in data.share.generalise, or leave the column out"
)


def test_values_that_point_at_somebody() -> None:
    """Two rows of Ann have a ward that nobody else has."""
    rare = {"ward": ["a", "a", "b", "b"]}
    owner, built = site(**rare)
    with pytest.raises(PolicyError) as error:
        release_rows(owner, "job-1", built, Ledger())
    assert str(error.value) == RARE.format([], "ward")
    for exact in (("ward",), ("*",)):
        owner, built = site(replace(SHARE, exact=exact), **rare)
        release_rows(owner, "job-1", built, Ledger())
    owner, built = site(replace(SHARE, exact=("age",)), **rare)
    with pytest.raises(PolicyError) as error:
        release_rows(owner, "job-1", built, Ledger())
    assert str(error.value) == RARE.format(["age"], "ward")
    owner, built = site(replace(SHARE, columns=("*",)), **rare, town=["x", "x", "x", "y"])
    with pytest.raises(PolicyError) as error:
        release_rows(owner, "job-1", built, Ledger())
    assert str(error.value).split("\n") == [RARE.format([], "ward"), RARE.format([], "town")]


def test_rows_are_alike_by_column_and_value() -> None:
    one, other = (
        pl.DataFrame({"a": [1, 1, 2], "b": ["x", "x", None]}),
        pl.DataFrame({"b": [1], "a": ["x"]}),
    )
    same, again, third = row_release._alike(one)
    assert same == again == hashlib.sha256(repr((["a", "b"], ("1", "x"))).encode()).digest()
    assert third == hashlib.sha256(repr((["a", "b"], ("2", None))).encode()).digest()
    assert row_release._alike(other) != [same]
