"""Fixed values of a ledger: its entries byte for byte, the hashes that chain them, and the sentences of its limits."""

from __future__ import annotations

import sqlite3
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import LedgerError, PolicyError
from tacit.privacy.claim import Approximate, GaussianDominated, GaussianNoise, Open, Sampled
from tacit.privacy.policy import Limits, RowToRelease, SharePolicy, SiteLedger
from tacit.privacy.site_ledger.chain import (
    START,
    Receipt,
    encode_canonical,
    hash_entry,
    parse_entry,
)
from tacit.privacy.site_ledger.charging import (
    ClaimCosts,
    ExchangeKey,
    check_pseudonyms,
    count_after,
    decode_claims,
    decode_counts,
    encode_claims,
    split_pseudonyms,
)
from tacit.privacy.site_ledger.releases import ReleasedRow, _group_alike, _merge_releases
from tacit.privacy.site_ledger.site_ledger import get_utc_day
from tacit.privacy.site_ledger.spending import (
    PrivacyCost,
    compute_cost,
    find_exceeded_limit,
    format_limit,
    format_micro,
    get_limit,
    to_micro,
)
from tests.privacy.claims import ADD, claim

ANN, BOB, EVE = (bytes([number]) * 16 for number in (1, 2, 3))
HALF = (claim(Approximate(0.5, 1e-7)),)
NAME = "34df993e8d8c4ada667425476c7450cc968abc6957345306036c148af14fb30f"
WHY = "limits.max_epsilon_per_run = 1 per client: with this response the run's privacy loss for this client is 1.5"
OPEN_SHARE = SharePolicy(min_k=2, min_l=1, max_share=1.0)
ROWS = [
    RowToRelease(bytes([row]) * 16, (ANN, BOB)[row % 2], b"l" * 16, b"x" if row < 4 else b"y")
    for row in range(6)
]


def book_in(folder: Path, **more: Any) -> SiteLedger:
    given: dict[str, Any] = {
        "limits": Limits(max_epsilon_per_run=1, max_epsilon_lifetime=1),
        "delta": 1e-5,
        "today": lambda: "2026-11-16",
    }
    return SiteLedger(folder / "ledger.db", **{**given, **more})


@pytest.fixture
def book(tmp_path: Path) -> SiteLedger:
    """A ledger with an entry of every kind."""
    made = book_in(tmp_path)
    made.record_cleartext("r", "client = 'patient'", {"clients": 2})
    assert made.reserve("r", 1, "train", [ANN, BOB], HALF) == {}
    made.store("r", 1, "train", b"q" * 32, b"answer")
    assert made.reserve("r", 2, "train", [ANN], HALF) == {}
    assert made.reserve("r", 3, "train", [BOB, ANN], HALF) == {ANN: WHY}
    assert made.reserve("r", 3, "measure", [ANN], ()) == {}
    assert made.disclose(ROWS, 10, {"run": "r", "plan": "p"}, OPEN_SHARE)
    made.drop_responses("r")
    return made


def test_the_chain_of_a_ledger(book: SiteLedger) -> None:
    """Its head covers every byte of every entry before: another version must write the same."""
    assert [entry.kind for entry in book.entries()] == [
        "opened", "told", "reserved", "stored", "reserved", "reserved", "reserved", "disclosed", "forgotten",
    ]  # fmt: skip
    assert book.receipt() == Receipt(
        9, bytes.fromhex("3a6498ee8145cb06025f770fc6c9820019706a24265f715af01ec8815e4ac75f")
    )
    book.verify()
    third = list(book.entries())[2]
    group = {
        "bare": False,
        "delta": 1e-7,
        "micro": 500_000,
        "paid": {NAME: 1},
        "persons": (ANN + BOB).hex(),
    }
    assert third.body == {
        "claims": NAME, "day": "2026-11-16", "delta": 1e-5, "exchange": "train", "kind": "reserved", "number": 3, "paid": [group],
        "refused": [], "round_no": 1, "run": "r",
    }  # fmt: skip
    assert [body["number"] for body in book.list_entries("disclosed")] == [8]
    assert [body["told"] for body in book.list_entries("told")] == [{"clients": 2}]


def test_links() -> None:
    assert bytes(32) == START
    assert (
        hash_entry(START, b"content").hex()
        == "2ba37d67ee7789a72c920ce8c98f11937e6887de3a6297042a71388cb813fb3c"
    )
    assert encode_canonical({"b": [1, "é"], "a": None}) == '{"a":null,"b":[1,"é"]}'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode_canonical([float("nan")])


@pytest.mark.parametrize(
    "content",
    [b"[]", b'{"number": 2, "kind": "told"}', b'{"number": 1}', b'{"number": 1, "kind": 3}', b"{"],
)
def test_what_is_no_entry(content: bytes) -> None:
    with pytest.raises(ValueError):
        parse_entry(1, content, b"digest")
    entry = parse_entry(1, b'{"number": 1, "kind": "told"}', b"digest")
    assert (entry.number, entry.kind, entry.hash) == (1, "told", b"digest")


def test_claims_and_people_as_they_are_kept() -> None:
    assert ClaimCosts(1e-5).register(HALF) == NAME
    assert decode_claims(encode_claims(HALF)) == HALF
    assert split_pseudonyms((ANN + BOB).hex()) == [ANN, BOB]
    assert decode_counts('{"a": 2}') == {"a": 2}
    for broken in (lambda: decode_claims(b"["), lambda: decode_counts("{")):
        with pytest.raises(
            sqlite3.DatabaseError, match=r"stored tally was changed|stored claims were changed"
        ):
            broken()
    assert str(ExchangeKey("r", 3, "train")) == "run 'r', round 3, train"


def test_people_are_charged_once_and_by_pseudonyms() -> None:
    assert check_pseudonyms([ANN, BOB, ANN], 0) == [ANN, BOB]
    assert check_pseudonyms([ANN], 2**31 - 1) == [ANN]
    for round_no in (-1, 2**31):
        with pytest.raises(ValueError, match=rf"round must be from 0 to 2\^31 - 1, got {round_no}"):
            check_pseudonyms([ANN], round_no)
    with pytest.raises(
        ValueError,
        match="a pseudonym must have 16 bytes, got 17; hash the client's name",
    ):
        check_pseudonyms([ANN, ANN + b"!"], 1)


def test_how_often_a_client_has_paid() -> None:
    assert count_after({}, "a", HALF, 7) == {"a": 1}
    assert count_after({"a": 2, "b": 1}, "a", HALF, 7) == {"a": 3, "b": 1}
    assert count_after({"a": 2}, "b", (), 7) == {"a": 2}
    sampled = (claim(Sampled(GaussianNoise(1.5), 0.1), relation=ADD),)
    assert count_after({}, "a", sampled, 7) == {"a": 7}, "every round so far"
    assert count_after({"a": 9}, "a", sampled, 7) == {"a": 9}
    assert count_after({}, "a", sampled, 0) == {"a": 1}


def test_millionths() -> None:
    assert [to_micro(one) for one in (0.1, 0.1 + 0.2, 1.0000001, 0.0, 2.0)] == [
        100_000,
        300_000,
        1_000_001,
        0,
        2_000_000,
    ]
    assert [format_micro(one) for one in (2_500_000, 8_000_000, 1, 1_234_000_000)] == [
        "2.5",
        "8",
        "0.000001",
        "1,234",
    ]
    limits = Limits(max_epsilon_per_run=2.5)
    assert [
        get_limit(limits, f"max_epsilon_{one}") for one in ("per_update", "per_run", "lifetime")
    ] == [
        float("inf"),
        2_500_000,
        0,
    ]
    assert (
        format_limit(limits, "max_epsilon_per_run") == "limits.max_epsilon_per_run = 2.5 per client"
    )
    assert format_limit(limits, "max_epsilon_lifetime") == "limits.max_epsilon_lifetime is not set"


def test_what_answers_cost_together() -> None:
    quarter = (claim(Approximate(0.25, 1e-8), relation=ADD),)
    assert compute_cost(((HALF, 2),), 1e-5) == PrivacyCost(1_000_000, pytest.approx(2e-7), False)
    assert compute_cost(((HALF, 0), (quarter, 1)), 1e-5) == PrivacyCost(
        250_000, pytest.approx(1e-8), False
    )
    assert compute_cost(((HALF, 2), (quarter, 1)), 1e-5) == PrivacyCost(
        1_250_000, pytest.approx(2e-7), True
    )
    assert compute_cost((((claim(Open()), *HALF), 1),), 1e-5) == PrivacyCost(
        500_000, pytest.approx(1e-7), True
    )
    assert compute_cost((((claim(Open()),), 1),), 1e-5) == PrivacyCost(0, 0.0, True)
    assert compute_cost((), 1e-5) == PrivacyCost(0, 0.0, False)
    coarse = (claim(GaussianDominated(1.0, distance=1e-8)),)
    assert compute_cost(((coarse, 1),), 1e-5) == PrivacyCost(0, 0.0, True), (
        "no number exists for it"
    )
    by_row = (claim(Approximate(0.5, 1e-7), relation="replace one row"),)
    assert compute_cost(((by_row, 1),), 1e-5) == PrivacyCost(0, 0.0, True)


def test_what_a_client_cannot_afford() -> None:
    limits = Limits(
        max_epsilon_per_update=1, max_epsilon_per_run=2, max_epsilon_lifetime=3, delta=1e-5
    )
    fits = {
        "answer": PrivacyCost(1_000_000),
        "run": PrivacyCost(2_000_000, 1e-5),
        "life": 3_000_000,
    }

    def why(limits: Limits = limits, **changes: Any) -> str:
        return find_exceeded_limit(limits, **{**fits, **changes})

    assert why() == ""
    assert (
        why(answer=PrivacyCost(1_000_001))
        == "limits.max_epsilon_per_update = 1 per client: this response has a privacy loss of 1.000001 per client"
    )
    assert (
        why(run=PrivacyCost(2_000_001))
        == "limits.max_epsilon_per_run = 2 per client: with this response the run's privacy loss for this client is 2.000001"
    )
    assert why(life=3_500_000) == (
        "limits.max_epsilon_lifetime = 3 per client: with this response the privacy loss of all runs for this client is 3.5"
    )  # fmt: skip
    assert (
        why(run=PrivacyCost(1, 1.2345e-5))
        == "limits.delta = 1e-05 per run: with this response it is 1.23e-05"
    )
    assert (
        why(run=PrivacyCost(1, bare=True))
        == "limits.no_epsilon = false: no epsilon per client exists for the requested response"
    )
    assert (
        why(
            Limits(max_epsilon_per_run=2, max_epsilon_lifetime=3, no_epsilon=True),
            run=PrivacyCost(1, bare=True),
        )
        == ""
    )


def test_the_last_receipt_is_handed_over_once_the_file_is_closed(tmp_path: Path) -> None:
    found: list[Receipt] = []
    made = book_in(tmp_path, on_close=found.append)
    last = made.receipt()
    made.abandon()
    assert found == []
    again = book_in(tmp_path, on_close=found.append)
    again.close()
    assert found == [last]
    with pytest.raises(LedgerError, match="closed database"):
        again.receipt()


def test_a_receipt_of_another_ledger(book: SiteLedger, tmp_path: Path) -> None:
    book.check_receipt(0, b"anything")
    book.check_receipt(*book.receipt())
    with pytest.raises(LedgerError) as error:
        book.check_receipt(10, b"x")
    assert (
        str(error.value)
        == f"{tmp_path / 'ledger.db'}: the ledger is older than its last receipt: it has 9 entries,"
        " the receipt says 10; restore the newer file. No response is sent"
    )
    with pytest.raises(
        LedgerError,
        match=r"entry 9 does not match its receipt, .* restore the right file\. No response is sent",
    ):
        book.check_receipt(9, b"x" * 32)


def test_whose_budgets_they_are_cannot_change(book: SiteLedger) -> None:
    with pytest.raises(
        PolicyError,
        match=(
            r"site\.toml: client = 'visit': this site's ledger keeps its budgets under client = 'pat"
        ),
    ):
        book.record_cleartext("s", "client = 'visit'", {})
    before = book.receipt()
    book.record_cleartext("r", "client = 'patient'", {"clients": 2})
    assert book.receipt() == before
    book.record_cleartext("r", "client = 'patient'", {"clients": 3})
    book.record_cleartext("s", "client = 'patient'", {"clients": 3})
    assert [body["run"] for body in book.list_entries("told")] == ["r", "r", "s"]
    book.verify()


def test_rows_that_left_are_written_down_once_per_run(book: SiteLedger) -> None:
    facts = {"run": "r", "plan": "p"}
    before = book.receipt()
    assert not book.disclose(ROWS, 10, facts, OPEN_SHARE)
    assert not book.disclose([], 10, facts, OPEN_SHARE)
    assert book.receipt() == before
    assert book.disclose(ROWS, 10, {**facts, "run": "s"}, OPEN_SHARE)
    last = book.list_entries("disclosed")[-1]
    expected = {
        "rows": 6,
        "of_rows": 10,
        "rows_of_all_runs": 6,
        "fewest_clients_alike": 2,
        "fewest_labels_alike": 1,
        "run": "s",
    }
    assert {key: last[key] for key in expected} == expected
    book.verify()


def test_rows_that_may_not_leave(tmp_path: Path) -> None:
    made, facts = book_in(tmp_path), {"run": "r", "plan": "p"}
    strict = SharePolicy(min_k=3, min_l=2, max_share=0.5)
    with pytest.raises(PolicyError) as error:
        made.disclose(ROWS, 10, facts, strict)
    assert str(error.value).split("\n") == [
        (
            "share.min_k = 3: with all rows released in any run, 6 rows would be in groups of as few as 2 clients"
        ),
        (
            "share.min_l = 2: with all rows released in any run, 6 rows would be in groups with as few as 1 different labels"
        ),
        "share.max_share = 0.5: 6 of 10 rows would be released over all runs",
    ]
    assert made.disclose(ROWS, 12, facts, SharePolicy(min_k=2, min_l=1, max_share=0.5))

    more = SiteLedger(tmp_path / "more.db", limits=Limits(), delta=1e-5)
    assert more.disclose(ROWS, 5, facts, OPEN_SHARE), (
        "all rows may leave, also if a file has become shorter"
    )


def test_rows_are_told_apart_by_any_release() -> None:
    """Rows 0 to 3 left alike; then 2 and 3 leave with 4, apart from 5: nobody can tell 0 from 1, or 2 from 3."""

    def leaving(**alike: bytes) -> list[RowToRelease]:
        return [
            RowToRelease(name.encode(), b"p" + name.encode(), b"l", one)
            for name, one in alike.items()
        ]

    first = _merge_releases({}, leaving(r0=b"x", r1=b"x", r2=b"x", r3=b"x"))
    assert {row: one.alike for row, one in first.items()} == {
        b"r0": 0,
        b"r1": 0,
        b"r2": 0,
        b"r3": 0,
    }
    assert first[b"r1"] == ReleasedRow(b"pr1", b"l", 0)
    second = _merge_releases(first, leaving(r2=b"y", r3=b"y", r4=b"y", r5=b"z"))
    assert {row: one.alike for row, one in second.items()} == {
        b"r4": 0,
        b"r5": 1,
        b"r0": 2,
        b"r1": 2,
        b"r2": 3,
        b"r3": 3,
    }
    assert sorted(len(group) for group in _group_alike(second.values())) == [1, 1, 2, 2]
    assert _merge_releases(second, []) == second


def test_an_answer_that_is_gone_is_not_an_empty_one(tmp_path: Path) -> None:
    made = book_in(tmp_path)
    made.reserve("r", 1, "train", [ANN], HALF)
    made.store("r", 1, "train", b"q" * 32, b"answer")
    with made._disk.writing() as db:
        db.execute("DELETE FROM answers")
    with pytest.raises(LedgerError, match="damaged at entry 3: its stored response was changed"):
        made.find_response("r", 1, "train", b"q" * 32)


def test_who_was_not_asked_is_told_so(tmp_path: Path) -> None:
    made = book_in(tmp_path)
    made.reserve("r", 1, "train", [ANN], HALF)
    late = "was not among the clients when this exchange was charged; each exchange is charged once"
    assert made.reserve("r", 1, "train", [ANN, BOB, EVE], HALF) == {BOB: late, EVE: late}


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Etc/GMT+12"])
def test_days_are_those_of_greenwich(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """At any moment one of the two zones has another date."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        before, found, after = datetime.now(UTC), get_utc_day(), datetime.now(UTC)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert found in (before.date().isoformat(), after.date().isoformat())


DAMAGE = {
    "UPDATE released SET label = x'00'": ("at entry 8: the released rows were changed"),
    "DELETE FROM released": "at entry 8: the released rows were changed",
    "UPDATE told SET run = 's'": "at entry 2: the facts it sent are not in the tables",
    "DELETE FROM told": "at entry 2: the facts it sent are not in the tables",
    "INSERT INTO told VALUES (7, 'r')": "at entry 9: tables contain rows that no entry explains",
    "DELETE FROM forgotten": "at entry 9: tables contain rows that no entry explains",
    "INSERT INTO days VALUES ('2026-11-17', 1)": "at entry 9: tables contain rows that no entry explains",
    "UPDATE days SET rounds = 2": "at entry 9: tables contain rows that no entry explains",
    "INSERT INTO exchanges VALUES ('r', 9, 'train', 3, NULL, NULL, 1)": (
        "at entry 9: tables contain rows that no entry explains"
    ),
    "INSERT INTO tallies VALUES (x'aa', 's', '{}', 0, 0, 0)": (
        "at entry 9: tables contain rows that no entry explains"
    ),
    "UPDATE exchanges SET stored = NULL WHERE round_no = 1": (
        "at entry 3: its exchange was changed"
    ),
    "UPDATE tallies SET bare = 1": "at entry 6: its charge is not in the tallies",
    "UPDATE tallies SET delta = 0": "at entry 6: its charge is not in the tallies",
    "UPDATE claims SET content = x'00' WHERE hash LIKE '34%'": (
        "at entry 3: the claims it charges for were changed"
    ),
}


@pytest.mark.parametrize("statement", DAMAGE)
def test_a_table_that_does_not_follow_from_the_entries(
    book: SiteLedger, tmp_path: Path, statement: str
) -> None:
    book.close()
    db = sqlite3.connect(tmp_path / "ledger.db")
    db.execute(statement)
    db.commit()
    db.close()
    with pytest.raises(LedgerError) as error:
        book_in(tmp_path).verify()
    said = (
        f"{tmp_path / 'ledger.db'}: the ledger is damaged {DAMAGE[statement]}. No response is sent"
    )
    assert str(error.value) == said


def test_an_entry_whose_forerunner_is_missing(book: SiteLedger, tmp_path: Path) -> None:
    book.close()
    db = sqlite3.connect(tmp_path / "ledger.db")
    db.execute("DROP TRIGGER undropped")
    db.execute("DELETE FROM entries WHERE number = 5")
    db.commit()
    db.close()
    with (
        book_in(tmp_path)._disk.reading(),
        pytest.raises(LedgerError, match="damaged at entry 6: its hash does not match"),
    ):
        book_in(tmp_path)._disk.entry(6)


def test_rows_without_an_entry(tmp_path: Path) -> None:
    made = book_in(tmp_path)
    with made._disk.writing() as db:
        db.execute("INSERT INTO released VALUES (x'00', x'01', x'02', 0)")
    with pytest.raises(
        LedgerError, match="damaged at entry 1: tables contain rows that no entry explains"
    ):
        made.verify()
    with pytest.raises(LedgerError, match="damaged at entry 1: the released rows were changed"):
        made.disclose(ROWS, 10, {"run": "r"}, OPEN_SHARE)


FORGED: dict[str, tuple[str, dict[str, Any], str]] = {
    "charged twice": ("reserved", {}, "it charges an exchange twice"),
    "stored twice": (
        "stored",
        {"request": "00", "answer": "00"},
        "it stores a response that was not reserved, or a second one",
    ),
    "stored alone": (
        "stored",
        {"round_no": 9, "request": "00", "answer": "00"},
        "it stores a response that was not reserved, or a second one",
    ),
    "too cheap": (
        "reserved",
        {"round_no": 9, "micro": 1},
        "its charge does not match the privacy loss of its claims",
    ),
    "a smaller delta": (
        "reserved",
        {"round_no": 9, "own_delta": 0.0},
        "its charge does not match the privacy loss of its claims",
    ),
    "bare": (
        "reserved",
        {"round_no": 9, "bare": True},
        "its charge does not match the privacy loss of its claims",
    ),
    "once for two": (
        "reserved",
        {"round_no": 9},
        "a client's charges do not follow from the entries before",
    ),
    "no day": ("reserved", {"round_no": 9, "without": "day"}, "it cannot be read ('day')"),
}


@pytest.mark.parametrize("case", FORGED)
def test_an_entry_that_does_not_follow_from_those_before(tmp_path: Path, case: str) -> None:
    """Whoever can write the file can also chain an entry of his own; what it says must still come out."""
    made = book_in(tmp_path)
    made.reserve("r", 1, "train", [ANN], HALF)
    made.store("r", 1, "train", b"q" * 32, b"answer")
    kind, changes, sentence = FORGED[case]
    group = {
        "bare": changes.get("bare", False),
        "delta": changes.get("own_delta", 1e-7),
        "micro": changes.get("micro", 500_000),
    }
    body = {
        "claims": NAME,
        "day": "2026-11-16",
        "delta": 1e-5,
        "run": "r",
        "round_no": 1,
        "exchange": "train",
        "refused": [],
    }
    body |= {"paid": [{**group, "paid": {NAME: 1}, "persons": ANN.hex()}], **changes}
    with made._disk.writing():
        made._disk.append(
            kind, {key: value for key, value in body.items() if key != changes.get("without")}
        )
    with pytest.raises(LedgerError) as error:
        made.verify()
    assert (
        str(error.value)
        == f"{tmp_path / 'ledger.db'}: the ledger is damaged at entry 4: {sentence}. No response is sent"
    )
