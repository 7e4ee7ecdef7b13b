"""`tacit server start` says that it listens when other commands find it, and not when its port is in use."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr")


def start(folder: Path, port: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tacit", "server", "start", "--plain", "--port", str(port)],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_a_server_that_says_it_listens_can_be_found(tmp_path: Path) -> None:
    server = start(tmp_path, 0)
    assert server.stderr
    try:
        assert "listens on" in server.stderr.readline()
        assert (tmp_path / "server" / "link.json").exists()
    finally:
        server.kill()
        server.wait(30)


def test_a_port_in_use_is_not_reported_as_listening(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        server = start(tmp_path, taken.getsockname()[1])
        _, said = server.communicate(timeout=60)
    assert server.returncode == 5
    assert "choose another port" in said
    assert "listens on" not in said


@pytest.mark.slow
def test_a_server_that_is_stopped_as_soon_as_it_listens_ends(tmp_path: Path) -> None:
    ends = """
import signal
from pathlib import Path
from tacit.deployment.transport.superlink.process import SuperLinkSettings, serve

settings = SuperLinkSettings(Path("server"), "127.0.0.1", 0, tls=False)
serve(settings, on_listening=lambda: signal.raise_signal(signal.SIGTERM))
"""
    done = subprocess.run([sys.executable, "-c", ends], cwd=tmp_path, timeout=60)
    assert done.returncode == 0  # neither killed nor deaf to the signal
