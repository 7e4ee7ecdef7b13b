"""A run's folder that was edited, cut short or mixed with another's is found out, and the file is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tacit import engine
from tacit.cli import execute
from tacit.engine.verify import damage, verified
from tests.engine.small import small_plan, write_csv


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("runs")
    source = write_csv(root / "reviews.csv", rows=120)
    one, other = (engine.start(small_plan(source, seed=seed, server__rounds=2), root) for seed in (1, 2))
    return one, other


def edited(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    place = content.index(b"0.") if name == "record.jsonl" else len(content) // 2
    content[place + 2 if name == "record.jsonl" else place] ^= 1
    (folder / name).write_bytes(content)


def cut(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[: content.rindex(b"\n", 0, -1) + 1] if name == "record.jsonl" else content[:-9])


def removed(folder: Path, name: str) -> None:
    (folder / name).unlink()


FILES = ["record.jsonl", "model.safetensors", "model.json", "checkpoint.safetensors"]
CASES = [(how, name) for how in (edited, cut) for name in FILES] + [(removed, "model.safetensors"), (removed, "plan.toml")]


def test_a_folder_as_it_was_written_is_intact(two) -> None:
    for folder in two:
        assert {one.file: one.state for one in verified(folder)} == dict.fromkeys([*FILES, "plan.toml"], "intact")


@pytest.mark.parametrize(("how", "name"), CASES, ids=[f"{how.__name__}-{name}" for how, name in CASES])
def test_what_is_wrong_is_named(two, tmp_path, how, name) -> None:
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))
    how(folder, name)
    assert any(sentence.startswith(name) for sentence in damage(folder))


@pytest.mark.parametrize("name", ["record.jsonl", "model.safetensors", "plan.toml", "checkpoint.safetensors"])
def test_a_file_of_another_run_is_found(two, tmp_path, name) -> None:
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))
    shutil.copy(two[1] / name, folder / name)
    assert damage(folder)


def test_a_setting_changed_in_the_plan_is_found_and_workers_may_change(two, tmp_path) -> None:
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))
    text = (folder / "plan.toml").read_text()
    (folder / "plan.toml").write_text(text.replace("epsilon = 2", "epsilon = 1"))
    assert damage(folder) == ["plan.toml: its settings are not those the record began with"]


def test_verify_leaves_code_6_and_show_says_it(two, tmp_path, capsys) -> None:
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))
    assert execute(["verify", str(folder)]) == 0
    assert execute(["show", str(folder)]) == 0
    assert "NOT INTACT" not in capsys.readouterr().out
    edited(folder, "model.safetensors")
    assert execute(["verify", str(folder)]) == 6
    assert "model.safetensors" in capsys.readouterr().err
    assert execute(["show", str(folder)]) == 0
    assert "NOT INTACT" in capsys.readouterr().out
