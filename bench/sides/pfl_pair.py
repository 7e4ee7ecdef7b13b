"""pfl-research in its own two-process mode (torch.distributed, as torchrun starts it).

pfl joins its process group while it is imported, so the second process is started and the group
named before that. The first process passes each word of the harness on to the second.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys


def second(arguments: list[str]) -> subprocess.Popen[str]:
    """Start the second process of the group, and make this one the first."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    shared = {
        "TORCHELASTIC_RUN_ID": "bench",
        "WORLD_SIZE": "2",
        "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1",
    }
    os.environ.update(shared, MASTER_PORT=port, RANK="0", LOCAL_RANK="0")
    return subprocess.Popen(
        [sys.executable, "-m", "bench.sides.pfl_round", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "RANK": "1", "LOCAL_RANK": "1"},
    )


if __name__ == "__main__":
    other = second(sys.argv[1:])
    from bench.sides import pfl_round

    kind, clients, step = sys.argv[1:]
    pfl_round.main(kind, clients, step, other=other)
