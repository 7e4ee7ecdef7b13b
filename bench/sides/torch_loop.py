"""The floor a user would write: a bare PyTorch loop over clients with fused Adam, one core, no
framework.
"""

from __future__ import annotations

import sys
from typing import Any

import torch

from bench.clock import measure
from bench.lines import serve
from bench.shapes import CLIENTS, ROWS
from bench.sides import torch_net


class AveragingLoop:
    """One global model and one local one."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.server, self.client = torch_net.net(), torch_net.net()
        torch_net.load_initial(self.server, kind)
        torch_net.rows(kind)

    def round(self, round_no: int | None = None) -> None:
        """Train every client from the global model and average the results."""
        shared, own = list(self.server.parameters()), list(self.client.parameters())
        total = [torch.zeros_like(parameter) for parameter in shared]
        for client in range(CLIENTS):
            with torch.no_grad():
                for target, source in zip(own, shared, strict=True):
                    target.copy_(source)
            torch_net.train(self.client, *torch_net.client_rows(self.kind, client, round_no))
            with torch.no_grad():
                for kept, parameter in zip(total, own, strict=True):
                    kept.add_(parameter)
        with torch.no_grad():
            for target, kept in zip(shared, total, strict=True):
                target.copy_(kept / CLIENTS)

    def verify(self) -> dict[str, Any]:
        """Run the verified rounds from the first model; leave the model after the first of them in
        a file.
        """
        torch_net.load_initial(self.server, self.kind)
        for round_no in torch_net.ROUNDS:
            self.round(round_no)
            if round_no == 1:
                torch_net.flat_of(self.server).tofile(ROWS / self.kind / "torch_round_1.f32")
        return {"loss": torch_net.held_out_loss(self.server, self.kind)}


def main(kind: str) -> None:
    """Serve the harness."""
    torch.set_num_threads(1)
    loop = AveragingLoop(kind)
    serve(
        lambda request: (
            loop.verify() if request["do"] == "verify" else measure(loop.round).as_dict()
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
