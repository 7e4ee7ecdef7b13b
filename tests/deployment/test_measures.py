"""Measures: a site answers those the plan implies, for one model per round, with counts as its policy says."""

from __future__ import annotations

import csv
import json
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tacit import features
from tacit import plan as plans
from tacit.deployment.bodies import MeasureResponse
from tacit.deployment.deployable_plan import prepare_for_sites
from tacit.deployment.server.job import deploy
from tacit.deployment.site.owner_site import OwnerSite
from tacit.deployment.site.rows.held_out import HeldOut
from tacit.privacy.policy import SiteLedger, parse_policy
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import GENEROUS, owner, sites_of

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
NOISY = (
    GENEROUS.partition("[measures]")[0]
    + '[measures]\ncounts = "noisy"\nepsilon = 2.0\nmin_rows = 20\n'
)
EXACT = GENEROUS


def name_of(patient: int) -> str:
    """A word that only this patient's notes have."""
    return "mr" + "".join(chr(97 + int(digit)) for digit in str(patient)) + "son"


def write_patients(path: Path, patients: int = 200, first: int = 0) -> Path:
    draw = np.random.default_rng(1)
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["patient", "note", "age", "readmitted"])
        for patient in range(first, first + patients):
            for _ in range(3):
                note = f"{name_of(patient)} " + " ".join(draw.choice(WORDS, 4, replace=False))
                lines.writerow(
                    [f"p{patient:03d}", note, draw.integers(20, 90), draw.choice(["yes", "no"])]
                )
    return path


def job(**changes: Any) -> plans.Plan:
    columns = {"client": "patient", "text": ["note"], "label": "readmitted"}
    tree: dict[str, Any] = {
        "name": "readmissions", "data": {"source": "given", "columns": columns},
        "features": {"text": "binary", "buckets": 2048}, "model": {"name": "logistic"},
        "codec": {"name": "projunit", "epsilon": 0.5, "clip": 1.0}, "server": {"rounds": 4},
    }  # fmt: skip
    return prepare_for_sites(plans.parse({**tree, **changes}))


class Hospital:
    """A site with a policy, what its log says, and a hostile server."""

    def __init__(self, folder: Path, policy: str = NOISY, plan: plans.Plan | None = None) -> None:
        self.told: list[str] = []
        self.folder, self.policy, self.plan = folder, policy, plan or job()
        self.rows = write_patients(folder / "rows.csv")
        self.server = HostileServer(self.restarted(), self.plan)

    def restarted(self) -> OwnerSite:
        return OwnerSite(
            owner("a", self.rows, self.folder / "a", self.policy, tell=self.told.append)
        )

    def spent(self) -> list[int]:
        limits = parse_policy(self.policy).limits
        with closing(
            SiteLedger(self.folder / "a" / "ledger.sqlite", limits=limits, delta=1e-5)
        ) as book:
            book.verify()
            return [one.life.micro for one in book.totals()]


def test_a_named_patients_row_is_not_read_by_measures(tmp_path) -> None:
    """The attack: a model that says yes to one patient's name, asked again and again under other names. Before, the difference of
    two counts told whether this patient is held out, and with which label; nothing was charged."""
    hospital = Hospital(tmp_path, EXACT)
    server = hospital.server.start()
    bucket = bucket_of(server, name_of(7))
    base, probe = np.zeros(server.dim), np.zeros(server.dim)
    base[-1] = probe[-1] = -32.0
    probe[bucket] = 64.0
    first = server.measure(base, 1)
    assert first
    answered = [
        server.measure(probe, round_no, name)
        for round_no, name in [(1, "measure"), *((1, f"m{n}") for n in range(20))]
    ]
    assert answered == [None] * 21
    for number, sentence in enumerate(hospital.told[-20:]):
        assert f"measure: must be called 'measure', got 'm{number}'" in sentence
    assert (
        "a different request was received before; each exchange gets one response"
        in hospital.told[-21]
    )


def bucket_of(server: HostileServer, word: str) -> int:
    """Where features put a word; public, so the server knows it too."""
    assert server.terms is not None
    plan = plans.parse(tomllib.loads(server.text))
    fitted = features.fit_statistics(
        server.terms.seen.statistics(), plan.data.columns, plan.features, b"", None, None, ()
    )
    label = pl.Series(["yes"], dtype=pl.Enum(list(fitted.classes)))
    rows = features.encode(
        pl.DataFrame({"note": [word], "readmitted": label}),
        plan.data.columns,
        plan.features,
        fitted,
        b"",
        None,
    )
    return int(np.asarray(rows.inputs.columns)[0])


def test_the_same_request_is_answered_from_the_store(tmp_path) -> None:
    server = Hospital(tmp_path).server.start()
    once, again = server.measure(0.5, 1), server.measure(0.5, 1)
    assert once == again
    assert once
    assert once.counts


@pytest.mark.parametrize("round_no", [0, 1, 3, 5, 6])
def test_rounds_that_the_plan_does_not_measure_are_refused(tmp_path, round_no) -> None:
    hospital = Hospital(tmp_path, plan=job(server={"rounds": 5, "evaluate_every": 2}))
    server = hospital.server.start()
    assert (server.measure(0.0, round_no) is not None) == (round_no == 5)
    if round_no != 5:
        assert server.status == "question"


@pytest.mark.parametrize("changes", [{"data": {"test": 0.0}}, {"offer": False}])
def test_without_held_out_rows_or_an_offer_to_measure_there_are_no_measures(
    tmp_path, changes
) -> None:
    columns = {"client": "patient", "text": ["note"], "label": "readmitted"}
    plan = (
        job(data={"source": "given", "columns": columns, **changes["data"]})
        if "data" in changes
        else job()
    )
    hospital = Hospital(tmp_path, plan=plan)
    server = hospital.server
    server.measures = changes.get("offer", True)
    server.start()
    assert server.measure(0.0, 1) is None
    assert "the plan and its offer imply none after round 1" in hospital.told[-1]


def test_one_model_per_round(tmp_path) -> None:
    """The model that is measured after a round is the one that the next round trains on."""
    hospital = Hospital(tmp_path)
    server = hospital.server.start()
    assert server.train(0.25, 1)
    assert server.measure(0.5, 1)
    assert server.train(0.75, 2) is None
    assert (
        "round 2, train: carries another model than the one this site was sent for round 2"
        in hospital.told[-1]
    )
    assert server.train(0.5, 2)


@pytest.mark.parametrize("restarted", [False, True])
def test_requests_keep_the_plans_order(tmp_path, restarted) -> None:
    hospital = Hospital(tmp_path)
    server = hospital.server.start()
    assert server.train(0.0, 2)
    server.site = hospital.restarted() if restarted else server.site
    assert server.train(0.0, 1) is None
    assert server.measure(0.0, 1) is None
    assert (
        "round 1, measure: comes too late, since a later request was answered" in hospital.told[-1]
    )
    assert server.measure(0.5, 2)
    assert server.train(0.5, 3)
    assert server.train(0.0, 2)  # the same bytes as before: from the store


def test_noisy_counts_are_charged_and_near_the_exact_ones(tmp_path) -> None:
    for name in ("noisy", "exact"):
        (tmp_path / name).mkdir()
    noisy, exact = Hospital(tmp_path / "noisy"), Hospital(tmp_path / "exact", EXACT)
    asked = [one.server.start().measure(0.0, 1) for one in (noisy, exact)]
    mine, true = asked[0].counts, asked[1].counts  # type: ignore[union-attr]
    assert mine
    assert true
    assert (true.noise, true.claim) == (0.0, b"")
    assert mine.noise > 1
    assert (
        abs(mine.rows - 90) < 60 + 8 * mine.noise
    )  # one row of each patient that has held-out rows; about 49 % of 200
    claim = json.loads(mine.claim)
    assert claim["relation"] == "replace all rows of one client"  # that of projunit
    spent = noisy.spent()
    assert set(exact.spent()) == {0}
    assert len(spent) > 20
    assert len(set(spent)) == 1
    assert 0 < spent[0] < 2_000_000


def test_all_measures_and_rounds_of_a_run_cost_what_was_checked(tmp_path) -> None:
    """A whole run: nobody is charged more than `policy check` says, and measures are part of it."""
    from tacit.deployment.plan_requirements import compute_requirements

    hospital = Hospital(tmp_path)
    server = hospital.server.start()
    for round_no in range(1, 5):
        assert server.train(0.0, round_no)
        measured = server.measure(0.0, round_no)
        assert measured
        assert measured.counts
    asked = compute_requirements(
        hospital.plan, parameters=server.dim, clients=400, policy=parse_policy(NOISY)
    )
    assert asked.epsilon_per_run is not None
    assert asked.epsilon_with_measures is not None
    assert asked.epsilon_per_run < asked.epsilon_with_measures
    assert max(hospital.spent()) <= asked.epsilon_with_measures * 1e6 + 1
    assert max(hospital.spent()) > asked.epsilon_per_run * 1e6


WITHHELD = {
    "measures.counts": NOISY.replace('"noisy"', '"off"'),
    "measures.min_rows": NOISY.replace("min_rows = 20", "min_rows = 5000"),
    "measures.min_clients": NOISY + "min_clients = 5000\n",
    "limits.max_epsilon_per_run": NOISY.replace(
        "max_epsilon_per_run = 1e12", "max_epsilon_per_run = 2.0"
    ),
}


@pytest.mark.parametrize("rule", WITHHELD)
def test_counts_are_withheld(tmp_path, rule) -> None:
    hospital = Hospital(tmp_path, WITHHELD[rule])
    found = hospital.server.start().measure(0.0, 1)
    assert found
    assert (found.counts, found.withheld) == (None, rule)
    assert rule in hospital.told[-1]
    assert "no counts are sent" in hospital.told[-1]
    # Noisy counts are drawn and charged before it is known whether they are large enough.
    counts_were_drawn = ".min_" in rule
    assert (set(hospital.spent()) == {0}) != counts_were_drawn


TOO_MUCH = [
    {"test": 0.31},
    {"local_test": 0.31, "test": 0.0},
    {"test": 0.2, "local_test": 0.2},
    {"test": 0.99},
]


@pytest.mark.parametrize("data", TOO_MUCH)
def test_plans_that_hold_out_too_much_are_refused(tmp_path, data) -> None:
    columns = {"client": "patient", "text": ["note"], "label": "readmitted"}
    hospital = Hospital(
        tmp_path,
        NOISY.replace("max_test_share = 0.9", ""),
        job(data={"source": "given", "columns": columns, **data}),
    )
    assert hospital.server.open() is None
    assert (hospital.server.status, hospital.server.rule) == ("policy", "limits.max_test_share")
    assert "limits.max_test_share = 0.3: the plan holds out" in hospital.told[-1]


def table_of(hospital: Hospital, plan: plans.Plan, run: str) -> tuple[set[str], set[str]]:
    """Notes that a run trains on, and those it holds out for all or at their clients."""
    server = HostileServer(hospital.restarted(), plan, run).start()
    one = server.site._runs[run]
    built, table = one.load_side(), one.rows.table
    text = table.train["note"].to_list()
    if not plan.data.local_test:
        return set(text), set(table.test["note"].to_list())
    from tacit import data

    kept, held = data.set_apart(one.rows.clients, one.rows.chosen.local)
    assert len(built.encoded.held) == len(held.order)
    return {text[place] for place in kept.order}, {text[place] for place in held.order} | set(
        table.test["note"].to_list()
    )


def split_plan(seed: int, **data: Any) -> plans.Plan:
    columns = {"client": "patient", "text": ["note"], "label": "readmitted"}
    return job(seed=seed, data={"source": "given", "columns": columns, **data})


def test_a_held_out_row_stays_held_out(tmp_path) -> None:
    """Whatever run, seed, column or share: a row that was held out once is never trained on. Before, each run drew anew."""
    hospital = Hospital(tmp_path, EXACT)
    first, held = table_of(hospital, split_plan(1, test=0.2), "run-1")
    assert 60 < len(held) < 180  # of 600, each with probability .2; false alarm below 1e-9
    assert table_of(hospital, split_plan(2, test=0.2), "run-2") == (first, held)
    more = table_of(hospital, split_plan(3, test=0.1, local_test=0.3), "run-3")
    assert held < more[1] | (held - more[1])
    ever = held | more[1]
    for number, data in enumerate(
        [{"test": 0.0}, {"test": 0.05}, {"test": 0.2}, {"local_test": 0.1, "test": 0.0}]
    ):
        trained, tested = table_of(hospital, split_plan(9, **data), f"later-{number}")
        assert not trained & ever
        assert tested <= ever
        assert not trained & tested


def test_rows_keep_their_side_when_the_file_grows(tmp_path) -> None:
    hospital = Hospital(tmp_path, EXACT)
    _, held = table_of(hospital, split_plan(1), "run-1")
    lines = hospital.rows.read_text().splitlines()
    extra = [
        "q1,another note about gout,55.5,no",
        *lines[1:],
    ]  # a first decimal makes the ages decimal numbers
    hospital.rows.write_text("\n".join([lines[0], *extra]) + "\n")
    trained, later = table_of(hospital, split_plan(1), "run-2")
    assert held <= later
    assert not trained & held


def test_sites_with_other_secrets_hold_out_other_rows(tmp_path) -> None:
    frame = pl.read_csv(write_patients(tmp_path / "rows.csv"))
    one, other = (HeldOut(tmp_path, secret).marks(frame) for secret in (b"one", b"other"))
    assert (one != other).all()
    assert (HeldOut(tmp_path, b"one").marks(frame) == one).all()


def test_a_split_column_of_one_run_holds_in_all(tmp_path) -> None:
    hospital = Hospital(tmp_path, EXACT)
    frame = pl.read_csv(hospital.rows)
    marks = ["test" if place % 5 == 0 else "train" for place in range(frame.height)]
    frame.with_columns(pl.Series("part", marks)).write_csv(hospital.rows)
    columns = {"client": "patient", "text": ["note"], "label": "readmitted", "split": "part"}
    named = job(data={"source": "given", "columns": columns, "test": 0.0})
    _, held = table_of(hospital, named, "run-1")
    assert len(held) == frame.height // 5
    trained, _ = table_of(hospital, split_plan(1), "run-2")
    assert not trained & held


def deployed(
    folder: Path, policies: dict[str, str], plan: plans.Plan
) -> tuple[Path, list[record.Entry]]:
    owners = []
    for place, (name, policy) in enumerate(policies.items()):
        (folder / name).mkdir(parents=True)
        rows = write_patients(folder / f"{name}.csv", 60, first=60 * place)
        owners.append(owner(name, rows, folder / name, policy))
    run = deploy(plan, sites_of(owners, min_sites=len(owners)), folder / "runs")
    return run, list(record.read(run / RECORD))


def test_a_run_goes_on_without_counts_and_its_record_says_so(tmp_path) -> None:
    _, entries = deployed(tmp_path, {"a": NOISY, "b": WITHHELD["measures.counts"]}, job())
    refusals = [
        one for one in record.select_entries(entries, record.Refused) if one.exchange == "measure"
    ]
    (reason,) = [one.reason for one in refusals if one.sender == "site b"]
    assert reason == "its owner's policy sends no counts (measures.counts)"
    rounds = record.select_entries(entries, record.Round)
    assert len(rounds) == 4
    assert all(set(one.metrics) <= {"accuracy", "accuracy_noise"} for one in rounds)


def test_no_counts_at_all_stop_no_run(tmp_path) -> None:
    off = WITHHELD["measures.counts"]
    _, entries = deployed(tmp_path, {"a": off, "b": off}, job())
    assert all(one.metrics == {} for one in record.select_entries(entries, record.Round))
    assert record.select_entries(entries, record.Finished)


def test_the_record_counts_what_measures_cost(tmp_path) -> None:
    from tacit.privacy import ledger

    run, entries = deployed(tmp_path, {"a": NOISY, "b": NOISY}, job())
    released = [
        one for one in record.select_entries(entries, record.Released) if one.exchange == "measure"
    ]
    assert [(one.round_no, one.busiest) for one in released] == [
        (number, number) for number in range(1, 5)
    ]
    sent = record.select_entries(entries, record.Released)
    without = ledger.compute_totals(
        ledger.fold_releases([one for one in sent if one.exchange == "train"]), 1e-5
    )
    (stated,) = [one.totals for one in record.select_entries(entries, record.Spent)][-1:]
    whole = next(one["epsilon"] for one in stated if one["unit"] == "run")
    assert whole > next(one.epsilon for one in without if one.unit == "run")
    assert not any("held-out rows" in one.promise.mechanism for one in sent if one.round_no == 0)
    assert run.exists()


def test_exact_counts_are_named_as_told_in_the_clear(tmp_path) -> None:
    _, entries = deployed(tmp_path, {"a": EXACT, "b": NOISY}, job())
    clear = [
        one.promise.mechanism
        for one in record.select_entries(entries, record.Released)
        if one.round_no == 0
    ]
    assert "how many held-out rows the model gets right, without noise, at site a" in clear


def test_patience_works_without_a_loss(tmp_path) -> None:
    _, entries = deployed(
        tmp_path, {"a": EXACT, "b": EXACT}, job(server={"rounds": 30, "patience": 1})
    )
    assert record.select_entries(entries, record.Finished)[-1].stopped_early


def test_a_measure_has_no_loss() -> None:
    assert set(MeasureResponse.__struct_fields__) == {"model", "counts", "withheld"}
