"""tacit plan advise: what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.plan import to_toml
from tests.cli.made_up import tacit
from tests.simulation.small import small_plan, write_csv

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(to_toml(small_plan(write_csv(tmp_path / "r.csv"))))
    return tmp_path


def test_advice_names_a_clip_and_how_many_clients_it_takes(capsys: Capture, here: Path) -> None:
    said = tacit(capsys, "plan", "advise", "plan.toml")
    assert said.code == 0, said.err
    for text in (
        "20 clients",
        "← best",
        "← plan",
        "Suggested: codec.clip = ",
        "times the signal requires ",
    ):
        assert text in said.out
    assert not (here / "runs").exists()


def test_advice_as_json_agrees_with_itself(capsys: Capture) -> None:
    found = json.loads(tacit(capsys, "plan", "advise", "plan.toml", "--json").out)
    assert found["clients"] == 20
    assert found["best"]["error"] <= found["planned"]["error"]
    strict = json.loads(
        tacit(capsys, "plan", "advise", "plan.toml", "--json", "--target", "0.5").out
    )
    assert strict["clients_needed"] > found["clients_needed"]


def test_a_plan_without_noise_needs_no_advice(capsys: Capture) -> None:
    said = tacit(capsys, "plan", "advise", "plan.toml", "-o", "codec={name='plain'}")
    assert said.code == 2
    assert "requires codec.name = 'rr'" in said.err


@pytest.mark.parametrize(
    "codec",
    [
        "{name='rr_sampled', epsilon=2, clip=0.01}",
        "{name='dp_sum', epsilon=8, delta=1e-5, clip=1}",
        "{name='projunit', epsilon=2, clip=1}",
    ],
)
def test_other_codecs_get_an_outlook(capsys: Capture, codec: str) -> None:
    said = tacit(capsys, "plan", "advise", "plan.toml", "-o", f"codec={codec}")
    assert said.code == 0, said.err
    assert "`tacit plan tune` covers later rounds" in said.out
    near, far = (
        json.loads(
            tacit(
                capsys,
                "plan",
                "advise",
                "plan.toml",
                "-o",
                f"codec={codec}",
                "--json",
                "--target",
                target,
            ).out
        )
        for target in ("1", "0.5")
    )
    assert far["clients_needed"] > near["clients_needed"] > 0
