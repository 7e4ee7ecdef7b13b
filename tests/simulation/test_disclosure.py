"""Runs that share rows: the same to the bit with any number of workers and after a stop, and told truly in the record."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tacit import plan, report, server, simulation
from tacit.errors import WireError
from tacit.plan import dump
from tacit.privacy.claim import Approximate, Disclosed, Open, Repeated
from tacit.protocol import messages
from tacit.protocol.aggregation import Intake
from tacit.protocol.exchanges.disclose_rows import Discloser, DiscloseRows
from tacit.protocol.site import Site
from tacit.randomness import Draws
from tacit.runs import record, run_folder
from tacit.runs.run_folder import RECORD
from tacit.simulation.prepared_rows import prepare
from tests.simulation.test_job import StopsAt, finished
from tests.slots import slot


@pytest.fixture(scope="module")
def people(tmp_path_factory) -> Path:
    random = np.random.default_rng(0)
    rows = 600
    age, town = (
        random.integers(20, 30, rows),
        random.choice(["here", "there", "afar"], rows, p=[0.6, 0.3, 0.1]),
    )
    pay = random.normal(0, 1, rows) + (age > 25)
    path = tmp_path_factory.mktemp("people") / "people.csv"
    label = np.where(pay + random.normal(0, 0.3, rows) > 0.7, "rich", "poor")
    pl.DataFrame({"age": age, "town": town, "pay": pay.round(2), "label": label}).write_csv(path)
    return path


def job(source: Path, **changes: object) -> plan.Plan:
    share = {"k": 12, **changes.pop("share", {})}
    tree = {
        "name": "people", "seed": 5,
        "data": {
            "source": str(source), "clients": 4, "partition": "quantile", "by": "age",
            "columns": {"numeric": ["age", "pay"], "categorical": ["town"], "label": "label", "quasi": ["age", "town"]},
            **({} if share["k"] is None else {"share": share}),
        },
        "model": {"name": "mlp", "hidden": [4]}, "local": {"lr": 0.01, "batch": 8}, "codec": {"name": "plain"},
        "server": {"rounds": 5, "weights": "rows"},
    }  # fmt: skip
    for key, value in changes.items():
        table, _, name = key.partition("__")
        if name:
            tree.setdefault(table, {})[name] = value
        else:
            tree[table] = value
    return plan.parse(tree)


def entries(folder: Path, kind: type) -> list:
    return record.select_entries(list(record.read(folder / RECORD)), kind)


RR = {"name": "rr", "epsilon": 2, "clip": 0.02}


@pytest.mark.parametrize("codec", [{"name": "plain"}, RR], ids=["plain", "rr"])
def test_one_and_two_workers_and_a_stop_in_between_end_with_the_same_bits(
    people, tmp_path, codec
) -> None:
    runs = [
        simulation.start(job(people, codec=codec, engine__workers=n), tmp_path / str(n))
        for n in (1, 2)
    ]
    watch = StopsAt(3)
    with pytest.raises(KeyboardInterrupt):
        simulation.start(job(people, codec=codec), tmp_path / "cut", watch)
    runs.append(simulation.resume(watch.folder))
    assert len({finished(folder).parameters_sha256 for folder in runs}) == 1
    assert len({(folder / run_folder.DISCLOSED).read_bytes() for folder in runs}) == 1
    assert [entry.round_no for entry in entries(runs[-1], record.Round)] == [1, 2, 3, 4, 5]
    assert len(entries(runs[-1], record.DisclosedRows)) == 1


def test_a_class_nobody_reaches_is_plain_federated_averaging(people, tmp_path) -> None:
    none, without = (
        simulation.start(job(people, share={"k": k}), tmp_path / str(k)) for k in (10_000, None)
    )
    assert finished(none).parameters_sha256 == finished(without).parameters_sha256
    assert entries(none, record.DisclosedRows)[0].rows == 0
    assert "No row is disclosed" in report.summarise(record.read(none / RECORD)).privacy.statement
    assert not entries(without, record.DisclosedRows)
    assert not (without / run_folder.DISCLOSED).exists()


def test_one_row_alike_is_training_at_the_server_alone(people, tmp_path) -> None:
    folder = simulation.start(job(people, share={"k": 1}, server__rounds=15, codec=RR), tmp_path)
    facts = entries(folder, record.DisclosedRows)[0]
    assert facts.rows == facts.of_rows == 480
    assert {entry.cohort for entry in entries(folder, record.Round)} == {0}
    assert {entry.bytes_up for entry in entries(folder, record.Round)} == {0}
    assert [entry for entry in entries(folder, record.Released) if entry.round_no > 0] == []
    assert finished(folder).metrics["accuracy"] > 0.8


def test_votes_are_on_what_clients_make_of_the_rows_they_keep(
    people, tmp_path, monkeypatch
) -> None:
    seen, sizes = Site.compute_head_inputs, dict[int, int]()

    def counted(site, model, slot, round_no, tests=None):
        rows, labels = seen(site, model, slot, round_no, tests)
        if tests is None:
            sizes[slot.name] = len(labels)
        return rows, labels

    monkeypatch.setattr(Site, "compute_head_inputs", counted)
    table = {**dump(job(people))["data"], "local_test": 0.3}
    folder = simulation.start(
        job(people, data=table, filter={"lr": 0.1}, server__rounds=1), tmp_path
    )
    (shared,) = entries(folder, record.DisclosedRows)
    assert shared.rows > 0
    assert sum(sizes.values()) == shared.of_rows - shared.rows
    assert len(entries(folder, record.Voted)[0].clients) == len(sizes)


def test_clients_that_count_alike_weigh_the_rows_the_plan_says(people, tmp_path) -> None:
    noisy = {"name": "dp_sum", "epsilon": 8.0, "delta": 1e-5, "clip": 1.0}
    share, plans = {"rows_per_client": 100}, [job(people)]
    plans += [
        job(people, share=share, codec=codec, server__weights="equal")
        for codec in ({"name": "plain"}, noisy)
    ]
    weights = [prepare(one, Draws.seeded(one.seed)).disclosure.clients_weight for one in plans]
    kept = weights[0]
    assert weights[1:] == [4 * 100, 4 * 100] != [kept, kept]
    assert finished(simulation.start(plans[2], tmp_path)).rounds == 5


def test_baselines_do_not_share(people, tmp_path) -> None:
    sharing_run, other = (
        simulation.start(
            job(people, share={"k": k}, baselines=["fedavg", "central"]), tmp_path / str(k)
        )
        for k in (12, 10_000)
    )
    for arm in ("fedavg", "central"):
        assert (
            finished(sharing_run, arm).parameters_sha256 == finished(other, arm).parameters_sha256
        )
    assert finished(sharing_run).parameters_sha256 != finished(other).parameters_sha256


def test_what_left_is_in_the_folder_the_ledger_and_the_report(people, tmp_path) -> None:
    folder = simulation.start(job(people), tmp_path)
    facts = entries(folder, record.DisclosedRows)[0]
    stored = pl.read_parquet(folder / run_folder.DISCLOSED)
    assert stored.height == facts.rows == sum(facts.rows_per_client)
    assert set(stored.columns) == {"age", "pay", "town", "label"}
    assert stored.select(pl.len().over("age", "town").min()).item() == facts.smallest_class >= 12
    assert all(
        (size > 60) == (rows > 0)
        for size, rows in zip(facts.bytes_per_client, facts.rows_per_client, strict=True)
    )
    assert sum(facts.labels_disclosed.values()) == facts.rows
    released = [
        entry for entry in entries(folder, record.Released) if entry.exchange == "disclose rows"
    ]
    assert [(entry.promise.event, entry.promise.unit, entry.round_no) for entry in released] == [
        (Repeated(Disclosed(), facts.rows), "row", 0)
    ]
    words = report.summarise(record.read(folder / RECORD)).privacy.statement
    assert f"{facts.rows:,} of 480 rows" in words
    assert "covers only the rows that were not disclosed" in words
    page = report.write(folder).read_text()
    assert "The rows sent to the server" in page
    assert "Rows disclosed to the server" in page
    assert json.loads((folder / "model.json").read_text())["inputs"] == 5


@pytest.mark.parametrize(
    ("share", "event", "view"),
    [
        ({"counts": "global"}, Open(), "peers"),
        ({"counts": "stable", "epsilon": 1, "delta": 1e-6}, Approximate(1.0, 1e-6), "everyone"),
    ],
)
def test_counting_together_is_in_the_ledger(people, tmp_path, share, event, view) -> None:
    folder = simulation.start(job(people, share=share, server__rounds=1), tmp_path)
    (counting,) = [
        entry for entry in entries(folder, record.Released) if entry.exchange == "count rows"
    ]
    assert (counting.promise.event, counting.promise.view) == (event, view)
    page = report.write(folder).read_text()
    assert ("joint counting revealed" in page) == (event == Open())
    assert ("noisy choice of the rows" in page) == (event != Open())


def test_coarser_and_missing_columns_are_learnt_from(people, tmp_path) -> None:
    coarse = {
        "k": 5,
        "release": "whole_row",
        "generalise": {"age": "ranges 5", "pay": "ranges 1", "town": "suppress"},
    }
    folder = simulation.start(job(people, share=coarse), tmp_path)
    stored = pl.read_parquet(folder / run_folder.DISCLOSED)
    assert stored.columns == ["age", "pay", "label"]
    assert set(stored["age"].unique()) <= {22.0, 27.0}
    assert stored.select(pl.len().over("age", "pay").min()).item() >= 5
    assert entries(folder, record.DisclosedRows)[0].unique_share == 0


def test_small_cohorts_do_not_make_the_server_weigh_more(people, tmp_path) -> None:
    folder = simulation.start(
        job(people, server__cohort="poisson", server__cohort_size=1, server__rounds=8), tmp_path
    )
    assert finished(folder).rounds == 8
    mean, own = (
        np.full(3, 2.0, np.float32),
        server.ServerUpdate(update=np.full(3, 6.0, np.float32), rows=100, clients_weight=300),
    )
    assert server.add_server_update(mean, own).tolist() == [3.0, 3.0, 3.0]
    assert server.add_server_update(mean, None) is mean


def received(
    exchange: DiscloseRows, message: messages.Frame, asked: tuple[int, ...] = (3,)
) -> pl.DataFrame:
    total = exchange.empty()
    exchange.receive(Intake(asked, 0, 10, least_weight=0), total, message)
    return pl.concat(total.arrived)


def test_rows_that_are_not_what_was_agreed_are_refused() -> None:
    rows = pl.DataFrame({"a": [1, 2], "y": ["u", "v"]})
    exchange = DiscloseRows("run", rows.schema)
    message = exchange.respond(Discloser(slot(3), rows, 4), None)
    assert received(exchange, message).equals(rows)
    others = (DiscloseRows("other", rows.schema), DiscloseRows("run", rows.select("a").schema))
    for other in others:
        with pytest.raises(WireError, match="sender 3"):
            received(other, message)
    with pytest.raises(WireError, match="asked"):
        received(exchange, message, asked=(1, 2))
    with pytest.raises(WireError, match="weight"):
        received(exchange, exchange.respond(Discloser(slot(3), rows, 11), None))
    broken = np.frombuffer(bytes(message[1])[:-40] + bytes(40), np.uint8).copy()
    broken[8:60] = 255
    with pytest.raises(WireError, match="sender 3"):
        received(
            exchange,
            messages.frame(messages.Header("run", 0, 3, "rows", 2, 2, broken.nbytes), broken),
        )


def test_a_client_that_discloses_nothing_says_so_with_its_weight() -> None:
    exchange, total = (
        DiscloseRows("run", pl.Schema({"a": pl.Int64()})),
        DiscloseRows("run", pl.Schema({})).empty(),
    )
    exchange.receive(
        Intake([3], 0, 10),
        total,
        exchange.respond(Discloser(slot(3), pl.DataFrame({"a": []}), 7), None),
    )
    assert (total.weight, total.arrived) == (7, [])


def test_pictures_can_be_disclosed(tmp_path) -> None:
    random = np.random.default_rng(0)
    pictures = pl.Series(random.integers(0, 255, (60, 9)).astype(np.uint8))
    rows = pl.DataFrame(
        {"picture": pictures, "town": ["here", "there"] * 30, "label": ["a", "b", "b"] * 20}
    )
    rows.write_parquet(tmp_path / "pictures.parquet")
    tree = {
        "data": {
            "source": str(tmp_path / "pictures.parquet"), "clients": 3, "share": {"k": 3},
            "columns": {"image": "picture", "label": "label", "quasi": ["town"]},
        },
        "model": {"name": "mlp", "hidden": [4]}, "codec": {"name": "plain"}, "server": {"rounds": 1, "weights": "rows"},
    }  # fmt: skip
    folder = simulation.start(plan.parse(tree), tmp_path / "runs")
    assert pl.read_parquet(folder / run_folder.DISCLOSED)["picture"].dtype == pl.Array(pl.UInt8, 9)
