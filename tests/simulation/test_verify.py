"""A run's folder that was edited, cut short or mixed with another's is found out, and the file is named."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import simulation
from tacit.cli import execute
from tacit.runs import record
from tacit.runs.verify import list_damage, verify_files
from tests.simulation.rewriting import rewrite
from tests.simulation.small import small_plan, write_csv


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("runs")
    source = write_csv(root / "reviews.csv", rows=120)
    one, other = (
        simulation.start(small_plan(source, seed=seed, server__rounds=2), root) for seed in (1, 2)
    )
    return one, other


def edited(folder: Path, name: str) -> None:
    content = bytearray((folder / name).read_bytes())
    place = content.index(b"0.") if name == "record.jsonl" else len(content) // 2
    content[place + 2 if name == "record.jsonl" else place] ^= 1
    (folder / name).write_bytes(content)


def cut(folder: Path, name: str) -> None:
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(
        content[: content.rindex(b"\n", 0, -1) + 1] if name == "record.jsonl" else content[:-9]
    )


def removed(folder: Path, name: str) -> None:
    (folder / name).unlink()


FILES = ["record.jsonl", "model.safetensors", "model.json", "checkpoint.safetensors"]
CASES = [(how, name) for how in (edited, cut) for name in FILES] + [
    (removed, "model.safetensors"),
    (removed, "plan.toml"),
]


def test_a_folder_as_it_was_written_is_intact(two) -> None:
    for folder in two:
        assert {one.file: one.state for one in verify_files(folder)} == dict.fromkeys(
            [*FILES, "plan.toml"], "intact"
        )


@pytest.mark.parametrize(
    ("how", "name"), CASES, ids=[f"{how.__name__}-{name}" for how, name in CASES]
)
def test_what_is_wrong_is_named(two, tmp_path, how, name) -> None:
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))
    how(folder, name)
    assert any(sentence.startswith(name) for sentence in list_damage(folder))


@pytest.mark.parametrize(
    "name", ["record.jsonl", "model.safetensors", "plan.toml", "checkpoint.safetensors"]
)
def test_a_file_of_another_run_is_found(two, tmp_path, name) -> None:
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))
    shutil.copy(two[1] / name, folder / name)
    assert list_damage(folder)


def test_a_setting_changed_in_the_plan_is_found_and_workers_may_change(two, tmp_path) -> None:
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))
    text = (folder / "plan.toml").read_text()
    (folder / "plan.toml").write_text(text.replace("epsilon = 2", "epsilon = 1"))
    assert list_damage(folder) == ["plan.toml: its settings differ from those in the record"]


def test_verify_leaves_code_6_and_show_says_it(two, tmp_path, capsys) -> None:
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))
    assert execute(["runs", "verify", str(folder)]) == 0
    assert execute(["runs", "show", str(folder)]) == 0
    assert "NOT INTACT" not in capsys.readouterr().out
    edited(folder, "model.safetensors")
    assert execute(["runs", "verify", str(folder)]) == 6
    assert "model.safetensors" in capsys.readouterr().err
    assert execute(["runs", "show", str(folder)]) == 0
    assert "NOT INTACT" in capsys.readouterr().out


def one_release(entries: list[record.Entry]) -> list[record.Entry]:
    """Return a record of as many rounds with the release of the first."""
    return [one for one in entries if not isinstance(one, record.Released) or one.round_no <= 1]


def consistent(entries: list[record.Entry]) -> list[record.Entry]:
    """Return the same, with the totals of the first round after every round."""
    first = record.select_entries(entries, record.Spent)[0]
    return [
        replace(first, round_no=one.round_no) if isinstance(one, record.Spent) else one
        for one in one_release(entries)
    ]


def fewer_rounds(entries: list[record.Entry]) -> list[record.Entry]:
    return [one for one in entries if not isinstance(one, record.Round) or one.round_no == 1]


def cheaper(entries: list[record.Entry]) -> list[record.Entry]:
    """Return a record whose releases cost half as much."""
    found = []
    for one in entries:
        if isinstance(one, record.Released) and one.round_no:
            event = {
                **one.claim["event"],
                "of": {
                    **one.claim["event"]["of"],
                    "epsilon": one.claim["event"]["of"]["epsilon"] / 2,
                },
            }
            one = replace(one, claim={**one.claim, "event": event})
        found.append(one)
    return found


REWRITES = [
    (one_release, "round 2 asked clients, and the entries of what was released are missing"),
    (consistent, "round 2 asked clients, and the entries of what was released are missing"),
    (fewer_rounds, "it ended after 2 rounds but has entries for 1"),
    (cheaper, "the totals after round 2 are not the sum of its releases"),
]


@pytest.mark.parametrize(("change", "why"), REWRITES, ids=lambda one: getattr(one, "__name__", ""))
def test_a_record_that_leaves_something_out_is_not_intact_even_if_signed(
    two, tmp_path, change, why
) -> None:
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))
    rewrite(folder, change, Ed25519PrivateKey.generate())
    (sentence,) = list_damage(folder)
    assert why in sentence


@pytest.mark.parametrize("change", [list, one_release], ids=["same", "one_release"])
def test_a_record_rewritten_without_the_runs_key_is_not_intact(two, tmp_path, change) -> None:
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))

    def changed(entries: list[record.Entry]) -> list[record.Entry]:
        return [
            replace(one, versions={}) if isinstance(one, record.Started) else one
            for one in change(entries)
        ]

    rewrite(folder, changed)
    (sentence,) = list_damage(folder)
    assert "the signature at byte" in sentence


@pytest.mark.parametrize(
    "strip", [(record.Signed,), (record.Signed, "key")], ids=["signatures", "signatures and key"]
)
def test_a_record_without_signatures_is_not_intact(two, tmp_path, strip) -> None:
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))

    def changed(entries: list[record.Entry]) -> list[record.Entry]:
        kept = [one for one in entries if not isinstance(one, record.Signed)]
        return [
            replace(one, key="") if isinstance(one, record.Started) and "key" in strip else one
            for one in kept
        ]

    rewrite(folder, changed)
    (sentence,) = list_damage(folder)
    assert "not signed" in sentence


def test_a_finished_record_cut_after_its_last_round_is_not_intact(two, tmp_path) -> None:
    """Without its checkpoint too: the run finished, and the entry that says so must be signed."""
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))
    rewrite(folder, lambda entries: entries[:-1])
    (folder / "checkpoint.safetensors").unlink()
    assert any(
        "entries of finished rounds are not signed" in sentence for sentence in list_damage(folder)
    )


def test_a_signed_record_written_anew_is_found_by_the_key_that_others_know(two, tmp_path) -> None:
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))
    (first,) = record.select_entries(list(record.read(folder / "record.jsonl")), record.Started)
    assert execute(["runs", "verify", str(folder), "--key", first.key]) == 0
    rewrite(folder, key=Ed25519PrivateKey.generate())
    assert execute(["runs", "verify", str(folder)]) == 0
    assert execute(["runs", "verify", str(folder), "--key", first.key]) == 6


def test_what_an_audit_adds_later_is_said_to_be_unsigned(two, tmp_path) -> None:
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))
    record.add(folder / "record.jsonl", record.Audited(name="reconstruct", findings={}))
    (chain,) = (one for one in verify_files(folder) if one.file == "record.jsonl")
    assert chain.state == "intact"
    assert "except the last 1;" in chain.why


def test_a_finished_run_keeps_no_key(two) -> None:
    assert [path.name for folder in two for path in folder.iterdir() if "key" in path.name] == []


def test_a_key_that_is_left_in_a_finished_run_is_named(two, tmp_path) -> None:
    folder = Path(shutil.copytree(two[0], tmp_path / "copy"))
    (folder / "record.key").write_bytes(bytes(32))
    assert [one.state for one in verify_files(folder) if one.file == "record.key"] == [
        "not checked"
    ]
    simulation.resume(folder)
    assert not (folder / "record.key").exists()


def test_a_codec_with_a_range_for_each_layer_is_verified_too(tmp_path) -> None:
    codec = {"name": "hashcomb", "x_min": [-0.5, -0.02], "x_max": [0.5, 0.02], "levels": 8}
    job = small_plan(write_csv(tmp_path / "reviews.csv", rows=120), codec=codec, server__rounds=2)
    folder = simulation.start(job, tmp_path / "runs")
    assert list_damage(folder) == []
    rewrite(folder, one_release, Ed25519PrivateKey.generate())
    assert any("round 2 asked clients" in sentence for sentence in list_damage(folder))
