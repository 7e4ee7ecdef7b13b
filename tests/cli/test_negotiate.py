"""tacit negotiate: parties in processes of their own, and what a command line may not say."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.made_up import tacit

pytest.importorskip(
    "tacit.negotiation.shares", reason="mpyc is not installed", exc_type=ImportError
)

from tacit.negotiation import load

Capture = pytest.CaptureFixture[str]
THREE = "127.0.0.1:7001,127.0.0.1:7002,127.0.0.1:7003"


def test_a_trial(capsys: Capture, tmp_path: Path) -> None:
    out = tmp_path / "agreed.json"
    said = tacit(
        capsys,
        "negotiate",
        "--run",
        "trial",
        "--simulate",
        "-0.5,0.25;-0.125,0.5;-1,0.25",
        "--out",
        str(out),
        "--json",
    )
    assert (said.code, said.err) == (0, "")
    shown = json.loads(said.out)
    assert (shown["x_min"], shown["x_max"], shown["parties"], shown["file"]) == (
        -1.0,
        0.5,
        3,
        str(out),
    )
    agreed = load(out, "trial")
    assert agreed.transcript_hash == shown["transcript_hash"]
    assert agreed.secret.hex() not in said.out, "the secret is in the file alone"


def _free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def test_three_parties_by_hand(tmp_path: Path) -> None:
    where = ",".join(f"localhost:{port}" for port in _free_ports(3))
    ranges = ["-0.5,0.25", "-0.125,0.5", "-1,0.25"]
    command = [
        sys.executable,
        "-c",
        "from tacit.cli import main; main()",
        "negotiate",
        "--run",
        "mine",
        "--parties",
        where,
    ]
    started = []
    for party in range(3):
        own = [
            "--party",
            str(party),
            "--range",
            "-" if party == 0 else ranges[party],
            "--out",
            str(tmp_path / f"{party}.json"),
        ]
        started.append(
            subprocess.Popen(
                [*command, *own],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=dict(os.environ),
            )
        )
    for party, process in enumerate(started):
        said, _ = process.communicate(ranges[party] + "\n", timeout=60)
        assert process.returncode == 0
        assert "contains the secret" in said
    assert len({load(tmp_path / f"{party}.json", "mine").secret for party in range(3)}) == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--simulate", "0,1;0,1"), "must be 3 to 7 parties"),
        (("--simulate", "0,1;0;0,1"), "two numbers MIN,MAX"),
        (("--simulate", "0,1;0,1;1,0"), "the smaller first"),
        (("--simulate", "0,1;0,1;0,1", "--levels", "99"), "got 99"),
        (("--simulate", "0,1;0,1;0,1", "--party", "0"), "or --simulate without --party"),
        (
            ("--party", "0", "--parties", THREE, "--range", "0,1"),
            "requires --party, --parties, --range and --out",
        ),
        (
            ("--party", "3", "--parties", THREE, "--range", "0,1", "--out", "x.json"),
            "numbered from 0",
        ),
        (
            (
                "--party",
                "0",
                "--parties",
                "10.0.0.1:1,10.0.0.2:1,10.0.0.3:1",
                "--range",
                "0,1",
                "--out",
                "x.json",
            ),
            "loopback",
        ),
        (
            (
                "--party",
                "0",
                "--parties",
                THREE,
                "--range",
                "0,1",
                "--out",
                "x.json",
                "--deadline",
                "0",
            ),
            "must be positive",
        ),
        ((), "requires --party"),
    ],
)
def test_bad_usage_is_code_2(
    capsys: Capture,
    words: tuple[str, ...],
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    said = tacit(capsys, "negotiate", "--run", "mine", *words)
    assert said.code == 2
    assert says in said.err
    assert not list(tmp_path.iterdir())


def test_a_missing_peer_is_code_5(capsys: Capture, tmp_path: Path) -> None:
    where = ",".join(f"127.0.0.1:{port}" for port in _free_ports(3))
    words = (
        "--party",
        "0",
        "--parties",
        where,
        "--range",
        "0,1",
        "--out",
        str(tmp_path / "x.json"),
        "--deadline",
        "0.3",
    )
    said = tacit(capsys, "negotiate", "--run", "mine", *words)
    assert said.code == 5
    assert "party 1 did not respond in time" in said.err
    assert "and neither did 2" in said.err
    assert not list(tmp_path.iterdir())


def test_a_result_is_not_replaced(capsys: Capture, tmp_path: Path) -> None:
    out = tmp_path / "agreed.json"
    out.write_text("kept")
    said = tacit(
        capsys, "negotiate", "--run", "mine", "--simulate", "0,1;0,1;0,1", "--out", str(out)
    )
    assert said.code == 2
    assert "already exists" in said.err
    assert out.read_text() == "kept"
