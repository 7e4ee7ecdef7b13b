"""TensorBoard, MLflow and Weights & Biases read what a run wrote, each round once, with their own readers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tacit
from tacit.cli import execute
from tacit.errors import PlanError
from tacit.runs.record import RUN
from tacit.tracking import export_metrics, parse_target
from tacit.tracking.target import TrackerTarget
from tests.tracking.stopped import count_lines, list_rounds, make_plan, stop_after

SILENT = tacit.Silence()
ARMS = ("run", "fedavg")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[object]]:
    """No tracker opens a connection to another machine."""
    import socket

    opened: list[object] = []
    connect = socket.socket.connect

    def note(self: socket.socket, address: Any) -> None:
        if self.family != socket.AF_UNIX and address[0] not in ("127.0.0.1", "::1"):
            opened.append(address)
            raise OSError("no network in tests")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", note)
    yield opened
    assert opened == []


def interrupt_and_resume(plan: tacit.Plan, log: str) -> tacit.Run:
    """Train with a tracker, stop in round 4, whose entry a resume supersedes, and resume with it."""
    from tacit.runs import run_folder
    from tacit.tracking import track

    with pytest.raises(KeyboardInterrupt), track([log], SILENT) as watching:
        tacit.run(plan, observer=watching, on_entry=stop_after(3))
    with track([log], SILENT) as watching:
        run = tacit.resume("small-1", observer=watching)
    assert count_lines(run.folder) > sum(len(list_rounds(run.folder, arm)) for arm in ARMS)
    assert (run.folder / run_folder.RECORD).exists()
    return run


def read_tensorboard(folder: Path) -> dict[str, list[tuple[int, float]]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder), size_guidance={"scalars": 0}, purge_orphaned_data=False)
    found.Reload()
    return {
        name: [(one.step, one.value) for one in found.Scalars(name)]
        for name in found.Tags()["scalars"]
    }


@pytest.mark.slow
def test_tensorboard_reads_each_round_once_after_a_resume(tmp_path: Path) -> None:
    run = interrupt_and_resume(make_plan(tmp_path), "tensorboard:logs")
    for arm in ARMS:
        read, rounds = (
            read_tensorboard(tmp_path / "logs" / "small-1" / arm),
            list_rounds(run.folder, arm),
        )
        wanted = [(one.round_no, one.metrics["accuracy"]) for one in rounds if one.metrics]
        assert [step for step, _ in read["accuracy"]] == [step for step, _ in wanted]
        assert [value for _, value in read["accuracy"]] == pytest.approx(
            [value for _, value in wanted]
        )
        assert [value for _, value in read["bytes_up"]] == pytest.approx(
            [one.bytes_up for one in rounds]
        )
    assert len(read_tensorboard(tmp_path / "logs" / "small-1" / RUN)["epsilon_per_bit"]) == 4


@pytest.fixture
def in_memory() -> Iterator[str]:
    """A folder in memory if there is one: MLflow creates its database with many writes to disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield folder


@pytest.mark.slow
def test_mlflow_reads_each_round_once_after_a_resume(tmp_path: Path, in_memory: str) -> None:
    run = interrupt_and_resume(make_plan(tmp_path), f"mlflow:{in_memory}")
    from mlflow.tracking import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{in_memory}/mlflow.db")
    experiment = client.get_experiment_by_name("tacit")
    assert experiment is not None
    (found,) = client.search_runs([experiment.experiment_id])
    assert found.info.run_name == "small-1"
    assert found.info.status == "FINISHED"
    for arm in ARMS:
        history = client.get_metric_history(found.info.run_id, f"{arm}/accuracy")
        assert sorted((one.step, one.value) for one in history) == [
            (one.round_no, one.metrics["accuracy"])
            for one in list_rounds(run.folder, arm)
            if one.metrics
        ]
    assert found.data.params["server.rounds"] == "4"
    assert found.data.params["codec.epsilon"] == "2.0"
    assert found.data.tags["tacit.model_sha256"] == run.model_sha256
    assert "relation: " in found.data.tags["tacit.privacy"]
    assert "trust required: " in found.data.tags["tacit.privacy"]
    export_metrics(run.folder, TrackerTarget(kind="mlflow", place=in_memory))
    assert len(client.search_runs([experiment.experiment_id])) == 1
    assert len(client.get_metric_history(found.info.run_id, "run/bytes_up")) == 4
    # A figure that the record does not have: the MLflow run is replaced.
    client.log_metric(found.info.run_id, "run/accuracy", 0.123, step=9)
    export_metrics(run.folder, TrackerTarget(kind="mlflow", place=in_memory))
    (second,) = client.search_runs([experiment.experiment_id])
    assert second.info.run_id != found.info.run_id
    replaced = client.get_run(found.info.run_id)
    assert replaced.info.lifecycle_stage == "deleted"
    assert replaced.data.tags["tacit.replaced_by"] == second.info.run_id


BLOCK, HEADER = 32768, 7


def split_log(content: bytes) -> Iterator[bytes]:
    """Records of a log of LevelDB, the form of an offline run: chunks in blocks, each with checksum,
    length and kind (1 whole, 2 first, 3 middle, 4 last).
    """
    at, record = HEADER, b""
    while at + HEADER <= len(content):
        if BLOCK - at % BLOCK < HEADER:  # the rest of a block is filling
            at += BLOCK - at % BLOCK
            continue
        length, kind = int.from_bytes(content[at + 4 : at + 6], "little"), content[at + 6]
        record += content[at + HEADER : at + HEADER + length]
        at += HEADER + length
        if kind in (1, 4):
            yield record
            record = b""


def read_wandb(folder: Path) -> list[dict[str, str]]:
    """The rows of an offline run's file, with values as JSON; the package has no reader of its own.

    Nothing in it says on which machine it ran.
    """
    from wandb.proto import wandb_internal_pb2

    (path,) = folder.glob("wandb/offline-run-*/run-*.wandb")
    rows = []
    for content in split_log(path.read_bytes()):
        line = wandb_internal_pb2.Record()
        line.ParseFromString(content)
        assert not line.HasField("environment")
        assert line.run.host == ""
        if line.HasField("history"):
            rows.append(
                {"/".join(one.nested_key) or one.key: one.value_json for one in line.history.item}
            )
    return rows


@pytest.mark.slow
def test_an_offline_run_of_wandb_has_each_round_once_after_a_resume(tmp_path: Path) -> None:
    import wandb

    run = interrupt_and_resume(make_plan(tmp_path), "wandb:logs")
    wandb.teardown()  # waits, as the end of the process does, until its own process has written all
    rows = [row for row in read_wandb(tmp_path / "logs") if "run/bytes_up" in row]
    assert [(int(row["run/round"]), float(row["run/accuracy"])) for row in rows] == [
        (one.round_no, pytest.approx(one.metrics["accuracy"])) for one in list_rounds(run.folder)
    ]


def test_a_table_has_every_figure_of_the_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tacit.run(make_plan(tmp_path), observer=SILENT)
    assert execute(["export-metrics", "small-1", "--to", "csv"]) == 0
    assert execute(["export-metrics", "small-1", "--to", "parquet", "--out", "all.parquet"]) == 0
    table = pl.read_csv("small-1-metrics.csv")
    assert table.equals(pl.read_parquet("all.parquet"))
    wide = table.filter(name="accuracy").select("arm", "round", "value").rows()
    assert wide == [
        (row["arm"], row["round"], row["accuracy"]) for row in run.metrics.iter_rows(named=True)
    ]
    assert {"refused_messages", "bytes_down", "epsilon_per_bit"} <= set(table["name"])
    assert f"{len(table):,} figures: small-1-metrics.csv" in capsys.readouterr().out


@pytest.mark.parametrize("module", ["tensorboardX", "mlflow", "wandb"])
def test_a_missing_package_is_named_before_anything_runs(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tacit.tracking import target

    monkeypatch.setattr(target, "find_spec", lambda name: None if name == module else object())
    kind = {"tensorboardX": "tensorboard"}.get(module, module)
    plan = make_plan(tmp_path)
    Path("plan.toml").write_text(tacit.plan.to_toml(plan))
    assert execute(["run", "plan.toml", "--log", f"{kind}:logs", "--quiet"]) == 2
    assert f'pip install "tacit[{kind}]"' in capsys.readouterr().err.replace("\n", " ")
    assert not Path("runs").exists()
    assert not Path("logs").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tensorbord:logs", "Did you mean 'tensorboard'"),
        ("tensorboard", "must name where to write"),
        ("mlflow:", "must name where to write"),
        ("csv:x", "must begin with tensorboard, mlflow, wandb"),
        ("https://ana:secret@host", "--log https://host"),
    ],
)
def test_a_tracker_that_does_not_exist_is_refused(text: str, said: str) -> None:
    with pytest.raises(PlanError) as refused:
        parse_target(text)
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_place_that_cannot_be_written_is_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("file").write_text("")
    Path("plan.toml").write_text(tacit.plan.to_toml(make_plan(tmp_path)))
    assert execute(["run", "plan.toml", "--log", "tensorboard:file/logs", "--quiet"]) == 7
    assert "cannot be created" in capsys.readouterr().err
    assert not Path("runs").exists()


def test_a_tracker_that_fails_does_not_end_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tacit.tracking.tensorboard import TensorBoardTracker

    def fail(self: object, batch: object) -> None:
        raise OSError(28, "No space left on device")

    plan = make_plan(tmp_path, track={"tensorboard": "logs"})
    monkeypatch.setattr(TensorBoardTracker, "write", fail)
    with pytest.warns(RuntimeWarning, match="tracker tensorboard:logs failed .* No space left"):
        run = tacit.run(plan, observer=SILENT)
    assert len(list_rounds(run.folder)) == 4


def test_a_plan_names_trackers_and_a_resumed_run_uses_them_only_if_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = make_plan(tmp_path, track={"tensorboard": "logs"})
    with pytest.raises(KeyboardInterrupt):
        tacit.run(plan, observer=SILENT, on_entry=stop_after(2))
    before = sorted(Path("logs").rglob("*.tacit"))
    assert before
    assert execute(["resume", "small-1", "--quiet", "--no-report"]) == 0
    assert "to continue that, add --log plan" in capsys.readouterr().err
    assert sorted(Path("logs").rglob("*.tacit")) == before
    assert execute(["export-metrics", "small-1", "--to", "tensorboard", "--out", "logs"]) == 0
    assert [step for step, _ in read_tensorboard(Path("logs/small-1/run"))["bytes_up"]] == [
        1,
        2,
        3,
        4,
    ]


def test_two_runs_of_one_name_do_not_mix(tmp_path: Path) -> None:
    plan = make_plan(tmp_path)
    for root in ("one", "two"):
        run = tacit.run(plan, folder=root, observer=SILENT)
        export_metrics(run.folder, TrackerTarget(kind="tensorboard", place="logs"))
        export_metrics(run.folder, TrackerTarget(kind="tensorboard", place="logs"))
    first, second = sorted(path for path in Path("logs").iterdir())
    assert first.name == "small-1"
    assert second.name.startswith("small-1-")
    for folder in (first, second):
        assert len(read_tensorboard(folder / RUN)["bytes_up"]) == 4
