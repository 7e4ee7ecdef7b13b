"""Damaged files of a stopped run: refused in one sentence that names the file, never another model, never a surprise."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from tacit import plan, simulation
from tacit.errors import RunError
from tacit.runs import checkpoint, record, run_folder
from tacit.runs.run_folder import RECORD
from tests.simulation.small import write_csv
from tests.simulation.test_resume import few_rounds, stopped


def model_of(folder: Path) -> str:
    return next(
        entry.parameters_sha256
        for entry in run_folder.entries(folder)
        if isinstance(entry, record.Finished)
    )


def refused(folder: Path) -> str | None:
    """Return why a run is not taken up; None if it ran to its end."""
    try:
        simulation.resume(folder)
    except RunError as error:
        return str(error)
    return None


@pytest.fixture(scope="module")
def broken_off(tmp_path_factory) -> tuple[Path, str]:
    """A run stopped in its second round, and the model it would end with."""
    root = tmp_path_factory.mktemp("damage")
    planned = few_rounds(write_csv(root / "reviews.csv", rows=120))
    return stopped(planned, root / "runs"), model_of(simulation.start(planned, root / "whole"))


@pytest.fixture
def folder(broken_off, tmp_path) -> Path:
    return Path(shutil.copytree(broken_off[0], tmp_path / "run-1"))


@pytest.mark.parametrize("name", [checkpoint.NAME, RECORD])
@pytest.mark.parametrize("damage", ["bit", "byte", "cut"])
def test_damage_is_refused_or_changes_nothing(broken_off, tmp_path, name, damage) -> None:
    """Entries after the last checkpoint are written anew, so damage there does no harm."""
    before, model = broken_off
    whole = (before / name).read_bytes()
    random = np.random.default_rng(len(name) + len(damage))
    for number, place in enumerate(
        random.integers(0, len(whole), 30 if damage == "cut" else 100).tolist()
    ):
        content = bytearray(whole)
        if damage == "cut":
            del content[place:]
        else:
            content[place] ^= (
                1 << int(random.integers(8)) if damage == "bit" else int(random.integers(1, 256))
            )
        folder = Path(shutil.copytree(before, tmp_path / f"run-{number}"))
        (folder / name).write_bytes(content)
        refusal = refused(folder)
        if refusal:
            assert f"{name}: " in refusal
            assert "\n" not in refusal
        else:
            assert model_of(folder) == model
            assert name == RECORD
        shutil.rmtree(folder)


def test_a_missing_record_is_named_by_whoever_reads_it(folder) -> None:
    (folder / RECORD).unlink()
    for read in (simulation.resume, lambda place: list(run_folder.entries(place))):
        with pytest.raises(RunError, match=r"record\.jsonl: the record cannot be read"):
            read(folder)


def test_a_record_without_its_end_is_named_by_whoever_reads_it(folder) -> None:
    whole = (folder / RECORD).read_bytes()
    (folder / RECORD).write_bytes(whole[: whole.index(b"\n") + 1])
    for read in (simulation.resume, lambda place: list(run_folder.entries(place))):
        with pytest.raises(RunError, match=r"record\.jsonl: is damaged"):
            read(folder)


def test_a_missing_checkpoint_does_not_start_the_run_anew(folder) -> None:
    (folder / checkpoint.NAME).unlink()
    before = (folder / RECORD).read_bytes()
    with pytest.raises(RunError, match=r"checkpoint\.safetensors: is missing"):
        simulation.resume(folder)
    assert (folder / RECORD).read_bytes() == before


def test_a_finished_run_with_a_damaged_record_is_not_called_done(tmp_path) -> None:
    folder = simulation.start(
        few_rounds(write_csv(tmp_path / "reviews.csv", rows=120)), tmp_path / "runs"
    )
    simulation.resume(folder)
    content = bytearray((folder / RECORD).read_bytes())
    content[-1] ^= 1  # the last line no longer ends
    (folder / RECORD).write_bytes(content)
    for read in (simulation.resume, lambda place: list(run_folder.entries(place))):
        with pytest.raises(RunError, match=r"record\.jsonl: .*damaged"):
            read(folder)


def test_an_audit_of_a_finished_run_outlives_a_resume(tmp_path) -> None:
    folder = simulation.start(
        few_rounds(write_csv(tmp_path / "reviews.csv", rows=120)), tmp_path / "runs"
    )
    record.add(folder / RECORD, record.Audited(name="reconstruct", findings={}))
    simulation.resume(folder)
    assert isinstance(list(run_folder.entries(folder))[-1], record.Audited)


@pytest.fixture(scope="module")
def with_private_words(tmp_path_factory) -> tuple[plan.Plan, Path]:
    pytest.importorskip("torch")
    from tests.simulation.worded import worded_plan

    root = tmp_path_factory.mktemp("private")
    planned = worded_plan(
        write_csv(root / "reviews.csv", rows=60), server={"rounds": 2}, engine={"workers": 1},
        data={"source": str(root / "reviews.csv"), "clients": 2, "columns": {"text": ["opinion"], "label": "stars"}},
    )  # fmt: skip
    return planned, stopped(planned, root / "runs")


@pytest.mark.parametrize("damage", ["flipped", "missing"])
def test_a_damaged_private_table_is_named(with_private_words, tmp_path, damage) -> None:
    folder = Path(shutil.copytree(with_private_words[1], tmp_path / "run-1"))
    table = folder / "private" / "run" / "1" / "1.safetensors"
    content = bytearray(table.read_bytes())
    content[len(content) // 2] ^= 4
    table.write_bytes(content)
    if damage == "missing":
        table.unlink()
    with pytest.raises(
        RunError,
        match=(
            rf"private/run/1/1\.safetensors: is {'damaged' if damage == 'flipped' else 'missing'}"
        ),
    ):
        simulation.resume(folder)
