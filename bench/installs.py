"""Peers in environments of their own, under bench/.peers/<name>."""

from __future__ import annotations

import subprocess
import sys
import venv

from bench import ROOT

_PEERS = ROOT / "bench" / ".peers"
_TORCH = "torch==2.13.0"  # a CPU build; others pull gigabytes
_WANTED = {
    "flower": ("flwr[simulation]==1.41.0", _TORCH),
    "pfl": ("pfl==0.6.0", _TORCH),
    "opendp": ("opendp==0.16.0", "numpy"),
}


def python_of(peer: str) -> str:
    """Interpreter of a peer's environment, installing it first if need be."""
    place, wanted = _PEERS / peer, _WANTED[peer]
    marker, program = place / "installed", place / "bin" / "python"
    if not marker.exists() or marker.read_text() != "\n".join(wanted):
        print(f"installing {', '.join(wanted)} into {place.relative_to(ROOT)}", file=sys.stderr)
        if not program.exists():
            venv.create(place, with_pip=True, symlinks=True)
        subprocess.run(
            [program, "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted],
            check=True,
        )
        marker.write_text("\n".join(wanted))
    return str(program)
