"""tacit audit reconstruct: a tiny net is attacked through the command, and the positive control is read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tacit.plan import to_toml
from tests.cli.made_up import tacit

pytest.importorskip("torch")
from tests.engine.worded import worded_plan

Capture = pytest.CaptureFixture[str]
QUICK = ("--texts", "4", "--batches", "1", "--per-bit", "1", "--quiet")
WORDS = tuple(f"{a}{b}{c}{d}" for a in "bdfgk" for b in "aeiou" for c in "lmnr" for d in "ao")
"""200 words; a text holds eight different ones, so each word read counts once."""


def write_texts(path: Path) -> Path:
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice(WORDS, 8, replace=False)) for _ in range(120)]
    path.write_text("opinion,stars\n" + "\n".join(f"{text},{('up', 'down')[n % 2]}" for n, text in enumerate(texts)) + "\n")
    return path


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    from tacit.engine import wording

    public = np.random.default_rng(1).normal(size=(len(WORDS), 32)).astype(np.float32)
    monkeypatch.setattr(wording, "vectors", lambda name, progress=None: (WORDS, public))
    monkeypatch.chdir(tmp_path)
    job = worded_plan(write_texts(tmp_path / "r.csv"), model={"name": "bilstm", "hidden": [16], "embedding": 32})
    (tmp_path / "plan.toml").write_text(to_toml(job))
    return tmp_path


def recall(lines: list[dict[str, object]], setting: str, attacker: str) -> float:
    (found,) = [
        line["score"]["recall"]  # type: ignore[index]
        for line in lines
        if (line["attacker"], line["seen"]) == (attacker, "true gradient") and str(line["setting"]).startswith(setting)
    ]
    return float(found)


def test_a_shared_table_is_read_and_a_random_private_one_is_not(capsys: Capture) -> None:
    said = tacit(capsys, "audit", "reconstruct", "plan.toml", *QUICK, "--json")
    assert said.code == 0, said.err
    lines = json.loads(said.out)["lines"]
    shared, private = "FedAvg: shared public table", "FedVocab: private, random start"
    assert recall(lines, shared, "public table") > 0.9, "the positive control: an attack that fails here proves nothing"
    assert recall(lines, shared, "wrong table") < 0.3, "a table of the right shape with wrong words reads nothing"
    assert recall(lines, private, "knows the table") > 0.9, "the same attack works for whoever has the private table"
    assert recall(lines, private, "public table") < 0.3


def test_the_table_and_the_page(capsys: Capture, here: Path) -> None:
    said = tacit(capsys, "audit", "reconstruct", "plan.toml", *QUICK, "--page", "audit.html")
    assert said.code == 0, said.err
    assert "Share of the words read (recall)" in said.out
    assert "FedAvg: shared public table" in said.out
    assert "page: audit.html" in said.out
    assert "<script" not in (here / "audit.html").read_text()


def test_other_plans_and_bad_lists_are_refused(capsys: Capture) -> None:
    said = tacit(capsys, "audit", "reconstruct", "plan.toml", "--batches", "none")
    assert (said.code, "--batches none: needs numbers" in said.err) == (2, True)
    assert tacit(capsys, "audit", "reconstruct", "missing.toml").code == 2
