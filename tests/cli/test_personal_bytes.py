"""No byte of personal data stands in what init, run and export write."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.cli.made_up import tacit
from tests.data.personal_tables import WITH, name, table

FORMATS = ("safetensors", "sklearn", "onnx", "torch", "hub")


def find_values(folder: Path, values: list[str]) -> list[tuple[str, str]]:
    """Files below a folder and the values that stand in them, in UTF-8 or as JSON escapes them."""
    found = []
    for path in folder.rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        for value in values:
            escaped = value.encode("unicode_escape").decode().replace("\\x", "\\u00")
            if value.encode() in content or escaped.encode() in content:
                found.append((path.name, value))
    return found


def everything() -> tuple[pl.DataFrame, tuple[str, ...]]:
    """All personal columns in one table, beside an owner and harmless ones."""
    made = list(WITH.values())
    columns, personal = {}, list[str]()
    for number, one in enumerate(made):
        for column in one.personal:
            columns[f"{column} {chr(97 + number)}"] = one.frame[column].cast(pl.String)
            personal.append(f"{column} {chr(97 + number)}")
    frame = table(
        {
            "Kunde": name,
            "city": ["Berlin", "Köln", "Bonn"],
            "rare": ["often"] * 400 + ["Zzyzx-once"],
        }
    )
    return frame.with_columns(**columns), ("Kunde", *personal)


def test_what_is_written_holds_no_personal_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frame, personal = everything()
    values = sorted(
        {str(cell) for column in personal for cell in frame[column].unique() if len(str(cell)) >= 6}
    )
    (tmp_path / "data").mkdir()
    frame.write_csv(tmp_path / "data" / "people.csv")
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    said = tacit(capsys, "init", "--from", str(tmp_path / "data" / "people.csv"))
    assert said.code == 0, said.err
    ran = tacit(
        capsys, "run", "plan.toml", "-o", "server.rounds=2", "-o", "server.evaluate_every=1"
    )
    assert ran.code == 0, ran.err
    for to in FORMATS:
        if to in ("onnx", "torch", "hub"):
            pytest.importorskip("onnx" if to == "onnx" else "torch")
        exported = tacit(capsys, "export", "people-1", "--to", to, "--out", f"as-{to}")
        assert exported.code == 0, exported.err
    assert len(values) > 300
    assert find_values(tmp_path / "out", values) == []
    assert find_values(tmp_path / "out", ["Zzyzx-once"]) == []
    assert find_values(tmp_path / "out", ["Berlin"]), (
        "common categories are there, so files were searched"
    )
    assert not any(value in text for value in values for text in (said.out, ran.out, ran.err))
