"""Flower's simulation: the round workload and the empty local step, on two Ray actors of one core
each.

One simulation runs; its ServerApp waits for the harness between two rounds, so Ray's start is never
measured.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

from bench.clock import measure
from bench.lines import Channel
from bench.sides import torch_net

client_app = ClientApp()


@client_app.train()
def train(message: Message, context: Context) -> Message:
    """The client's model after its local epoch, or as it came."""
    config: Any = message.content["config"]
    arrays: Any = message.content["arrays"]
    if not config["empty"]:
        torch.set_num_threads(1)
        model = torch_net.net()
        model.load_state_dict(arrays.to_torch_state_dict())
        client, round_no = int(context.node_config["partition-id"]), int(config["verify"]) or None
        torch_net.train(
            model,
            *torch_net.client_rows(config["kind"], client, round_no),
            fused=bool(config["fused"]),
        )
        arrays = ArrayRecord(model.state_dict())
    content = RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": 1})})
    return Message(content=content, reply_to=message)


class FlowerRounds:
    """Rounds of FedAvg over all clients, one at a time."""

    def __init__(self, grid: Grid, kind: str, clients: int, empty: bool, fused: bool) -> None:
        self.grid, self.kind = grid, kind
        self.config: dict[str, Any] = {"kind": kind, "empty": int(empty), "fused": int(fused)}
        self.strategy = FedAvg(
            fraction_train=1.0,
            fraction_evaluate=0.0,
            min_train_nodes=clients,
            min_available_nodes=clients,
        )
        self.model = torch_net.net()
        self.reset()

    def reset(self) -> None:
        """Go back to the first model."""
        torch_net.load_initial(self.model, self.kind)
        self.arrays = ArrayRecord(self.model.state_dict())

    def round(self, verify: int = 0) -> None:
        """Run one round."""
        config = ConfigRecord({**self.config, "verify": verify})
        self.arrays = self.strategy.start(
            self.grid, self.arrays, num_rounds=1, train_config=config
        ).arrays

    def verify(self) -> dict[str, float]:
        """Run the verified rounds from the first model."""
        self.reset()
        for round_no in torch_net.ROUNDS:
            self.round(round_no)
        self.model.load_state_dict(self.arrays.to_torch_state_dict())
        return {"loss": torch_net.held_out_loss(self.model, self.kind)}


def main(kind: str, clients: str, step: str, adam: str) -> None:
    """Serve the harness."""
    channel = Channel()
    server_app = ServerApp()

    @server_app.main()
    def serve(grid: Grid, context: Context) -> None:
        rounds = FlowerRounds(grid, kind, int(clients), step == "empty", adam == "fused")
        rounds.round()  # starts the actors and reads the rows
        channel.send({"ready": True})
        for request in channel.requests():
            channel.send(
                rounds.verify() if request["do"] == "verify" else measure(rounds.round).as_dict()
            )

    resources: dict[str, Any] = {"num_cpus": 1, "num_gpus": 0.0}
    run_simulation(
        server_app,
        client_app,
        int(clients),
        backend_config={"client_resources": resources, "init_args": {"num_cpus": 2}},
    )


if __name__ == "__main__":
    from bench.sides import (
        flower_round,
    )  # by its name, so that Ray's actors import it instead of unpickling __main__

    flower_round.main(*sys.argv[1:])
