"""Attacks of a malicious server on one site: refusals that tell of one cell, two budgets for one person, free answers, hangs."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest

from tacit import plan as plans
from tacit.deployment import bodies
from tacit.deployment.server.job import DEPLOYMENT, prepare
from tacit.deployment.site import stored_runs
from tacit.deployment.site.owner_site import OwnerSite
from tacit.deployment.site.rows.site_rows import read_rows
from tacit.privacy.policy import parse_policy
from tacit.randomness import Draws
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import GENEROUS, owner
from tests.deployment.test_measures import EXACT, Hospital, job, write_patients
from tests.deployment.test_secure_aggregation_attacks import (
    HELPS,
    Network,
    ask_helper,
    confirmed,
    plan_of,
    train,
)

TOLD_BY_TEN = GENEROUS.replace("min_clients_per_value = 1", "min_clients_per_value = 10")
DOSES = {
    "source": "given",
    "columns": {"client": "patient", "numeric": ["dose"], "label": "readmitted"},
}


class Doses:
    """A site of 60 patients with a dose of 12, but for one of them, and a hostile server."""

    def __init__(self, folder: Path, cell: str, **features: Any) -> None:
        folder.mkdir()
        self.told: list[str] = []
        with (folder / "rows.csv").open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["patient", "dose", "readmitted"])
            lines.writerows(
                [f"p{one}", cell if one == 7 else "12", ["no", "yes"][one % 2]] for one in range(60)
            )
        made = owner("a", folder / "rows.csv", folder / "a", TOLD_BY_TEN, tell=self.told.append)
        self.server = HostileServer(OwnerSite(made), job(data=DOSES, features=features))


@pytest.mark.parametrize("comma", [True, False])
def test_how_one_patients_number_is_written_decides_no_refusal(tmp_path, comma) -> None:
    """Before, a server that said the run agreed on a comma was refused if one patient's cell was written like 1,234."""
    answers = []
    for cell in ("1,234", "1234"):
        site = Doses(tmp_path / cell, cell, ranges={"dose": [0, 2000]})
        opened = site.server.open()
        assert opened
        seen = msgspec.structs.replace(opened.seen, formats={"dose": (comma, True)})
        answers.append((opened.seen.formats, site.server.begin(opened, seen=seen) is not None))
    assert answers == [({"dose": (False, False)}, True)] * 2


def test_one_patients_large_number_decides_no_refusal(tmp_path) -> None:
    """Before, a plan that reads numbers as they are was refused if one of them does not fit 32 bits."""
    for cell in ("1e39", "12"):
        server = Doses(tmp_path / cell, cell, numeric="raw").server.start()
        answers = server.train()
        assert answers is not None
        assert len(answers.frames) == server.terms.members[0].clients


FORMS = ("é{}", "e\u0301{}", " é{}\xa0", "é\u200b{}", "é{}\u202c")


def test_a_person_has_one_budget_however_the_name_is_written(tmp_path) -> None:
    """Before, 40 people had 160 budgets: composed and decomposed letters, and characters that nobody sees."""
    path = tmp_path / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file)
        lines.writerow(["patient", "note", "readmitted"])
        lines.writerows(
            [form.format(one), "pain", ["no", "yes"][one % 2]]
            for one in range(40)
            for form in FORMS
        )
    opened = HostileServer(OwnerSite(owner("a", path, tmp_path / "a")), job()).open()
    assert opened
    assert opened.clients == 40


@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64, pl.Decimal(10, 2), pl.String])
def test_a_number_as_name_is_the_same_in_every_kind_of_column(tmp_path, kind) -> None:
    """Before, everybody had a new budget once one missing name made a column of integers one of decimal numbers."""
    names = pl.Series("patient", range(40)).cast(kind)
    frame = pl.DataFrame(
        {"patient": names, "note": ["pain"] * 40, "readmitted": ["yes", "no"] * 20}
    )
    frame.write_parquet(tmp_path / "rows.parquet")
    made = owner("a", tmp_path / "rows.parquet", tmp_path / "a")
    rows = read_rows(job(), made, parse_policy(GENEROUS).limits, Draws(bytes(32)), None)
    assert set(rows.owners) <= {str(one) for one in range(40)}


def test_names_that_may_be_one_persons_are_told_to_the_owner(tmp_path) -> None:
    path, told = tmp_path / "rows.csv", list[str]()
    names = [
        form
        for one in range(20)
        for form in (f"P{one}", f"p{one}", f"{one}", f"00{one}", f"{one}.0")
    ]
    lines = [f"{name},pain,{['no', 'yes'][number % 2]}" for number, name in enumerate(names)]
    path.write_text("\n".join(["patient,note,readmitted", *lines, ""]))
    assert HostileServer(
        OwnerSite(owner("a", path, tmp_path / "a", tell=told.append)), job()
    ).open()
    assert any(
        "60 names of clients differ from another only in case, leading zeros or a decimal point"
        in one
        for one in told
    )


def test_exact_counts_are_rounds_of_a_day(tmp_path) -> None:
    """Before, exact counts were free and no rounds: a server asked about as many models a day as it liked."""
    hospital = Hospital(
        tmp_path, EXACT.replace("max_rounds_per_day = 100000", "max_rounds_per_day = 2")
    )
    answers = [
        HostileServer(hospital.server.site, hospital.plan, f"job-{one}")
        .start()
        .measure(float(one), 1)
        for one in range(4)
    ]
    assert [one.counts is not None for one in answers] == [True, True, False, False]
    assert answers[-1].withheld == "limits.max_rounds_per_day"
    assert any(
        "limits.max_rounds_per_day = 2: this site already took part in" in one
        for one in hospital.told
    )
    assert hospital.spent() == [0] * len(hospital.spent()), "and the ledger is whole"


def test_a_measure_after_training_is_no_round_of_its_own(tmp_path) -> None:
    hospital = Hospital(
        tmp_path, EXACT.replace("max_rounds_per_day = 100000", "max_rounds_per_day = 2")
    )
    server = hospital.server.start()
    assert server.train(0.0, 1)
    assert server.measure(0.5, 1).counts
    assert server.train(0.5, 2)
    assert server.measure(0.7, 2).counts
    assert server.train(0.7, 3) is None


@pytest.mark.parametrize("run", ["\u0458ob-1", "İ", "²", "１", "ﬁ", "名" * 20, "_a"])
def test_no_name_of_a_run_looks_like_another(tmp_path, run) -> None:
    hospital = Hospital(tmp_path)
    assert hospital.server.open(run=run) is None
    assert (
        "must start with an ASCII letter or digit and contain only ASCII letters, digits, dashes and underscores"
        in hospital.told[-1]
    )


def refused(hospital: Hospital, text: str) -> str:
    assert hospital.server.open(text, plan=hashlib.sha256(text.encode()).digest()) is None
    assert hospital.server.status == "plan"
    return hospital.told[-1]


def test_a_plan_that_a_reader_would_take_hours_for(tmp_path) -> None:
    """Before, 200 kB of dots held a site for many minutes, whatever its policy said."""
    dots = ".".join("a" * 100_000) + " = 1"
    assert "a key has at most 8 parts between dots" in refused(Hospital(tmp_path), dots)
    assert "nested too deeply" in refused(Hospital(tmp_path), "a = " + "[" * 100_000)


@pytest.mark.slow
def test_a_plan_writes_few_lines_into_the_log(tmp_path) -> None:
    said = refused(Hospital(tmp_path), "\n".join(f"k{one} = 1" for one in range(30_000)))
    assert len(said.splitlines()) == 21
    assert said.splitlines()[-1].endswith("more lines")


def test_a_helper_takes_no_round_from_inside_a_letter(tmp_path) -> None:
    """Before, a letter of round 2 could ask for round 1: agenda and ledger noted another round than the helper answered."""
    network = Network(tmp_path)
    servers, _, _ = confirmed(network, plan_of())
    answers = [train(server, name) for name, server in servers.items()]
    assert ask_helper(servers["c"], answers)
    asked = servers["c"].send

    def later(kind: str, exchange: str, body: bytes, round_no: int = 0, **changes: Any) -> Any:
        return asked(kind, exchange, body, round_no + 1, **changes)

    servers["c"].send = later  # type: ignore[method-assign]
    assert ask_helper(servers["c"], answers, exchange=HELPS) is None
    assert "round_no must be 2, got 1" in network.told["c"][-1]


def test_a_plans_own_name_may_have_any_letters(tmp_path) -> None:
    place = prepare(plans.parse({**plans.dump(job()), "name": "größe-ß"}), tmp_path)
    assert '"run": "gre--1-' in (place / DEPLOYMENT).read_text()


def test_a_server_opens_no_runs_without_end(tmp_path, monkeypatch) -> None:
    """Each open run is a megabyte of plan that the server chose."""
    monkeypatch.setattr(stored_runs, "MOST_OPEN", 3)
    site = OwnerSite(
        owner("a", write_patients(tmp_path / "patients.csv"), tmp_path / "a", GENEROUS)
    )
    opened = [HostileServer(site, job(), f"run-{number}") for number in range(5)]
    assert [one.open() is not None for one in opened] == [True, True, True, False, False]
    assert opened[0].open(), "a run that is open stays open"
    opened[1].send("end", "end", b"")
    assert opened[3].open()


def test_offers_that_fail_leave_nothing(tmp_path) -> None:
    rows = tmp_path / "patients.csv"
    rows.write_text("patient,note,age,readmitted\n")
    server = HostileServer(OwnerSite(owner("a", rows, tmp_path / "a", GENEROUS)), job())
    assert server.open() is None
    assert server.status == "data"
    assert not list((tmp_path / "a" / "runs").iterdir())


@pytest.mark.parametrize("by_owner", [True, False])
def test_a_run_of_another_version_can_be_ended(tmp_path, by_owner) -> None:
    """Its noise key would stay for ever at a site whose version cannot read the plan any more."""
    site = OwnerSite(
        owner("a", write_patients(tmp_path / "patients.csv"), tmp_path / "a", GENEROUS)
    )
    server = HostileServer(site, job()).start()
    folder = tmp_path / "a" / "runs" / "job-1"
    server.text += "\n[novelty]\nstrength = 3\n"
    (folder / stored_runs.OFFER).write_bytes(bodies.pack(bodies.Offer(plan=server.text)))
    if by_owner:
        stored_runs.forget_run(site.owner, "job-1")
    else:
        server.send("end", "end", b"")
        assert server.status == "ok"
    assert not (folder / stored_runs.ROOT).exists()
    assert stored_runs.has_ended(site.owner, "job-1")
