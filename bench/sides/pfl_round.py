"""pfl-research: the round workload and the empty local step, in one process (`pfl_pair` runs two).

One long training runs; its callback waits for the harness between two rounds. pfl evaluates in its
first round, which is therefore never measured.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import torch
from pfl.aggregate.simulate import SimulatedBackend
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.data.sampling import get_user_sampler
from pfl.hyperparam import NNEvalHyperParams, NNTrainHyperParams
from pfl.metrics import Metrics, Weighted
from pfl.model.pytorch import PyTorchModel

from bench.clock import Stopwatch
from bench.lines import Channel
from bench.shapes import BATCH, LR
from bench.sides import torch_net

_ENDLESS = 10**9


class PflNet(torch.nn.Module):
    """The MLP with the two methods pfl asks for."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch_net.net()

    def loss(
        self, inputs: torch.Tensor, labels: torch.Tensor, is_eval: bool = False
    ) -> torch.Tensor:
        """Mean logistic loss."""
        return torch.nn.functional.binary_cross_entropy_with_logits(
            self.layers(inputs)[:, 0], labels
        )

    def metrics(
        self, inputs: torch.Tensor, labels: torch.Tensor, is_eval: bool = False
    ) -> dict[str, Weighted]:
        """A metric that costs nothing; none of the measured rounds asks for it."""
        return {"rows": Weighted(len(labels), len(labels))}


class EmptyAveraging(FederatedAveraging):  # type: ignore[misc]
    """Federated averaging whose local step does nothing; everything around it is pfl's."""

    def train_one_user(
        self, initial_model_state: Any, model: Any, user_dataset: Any, central_context: Any
    ) -> Any:
        """Difference of the model and itself."""
        difference = model.get_model_difference(initial_model_state)
        model.set_parameters(initial_model_state)
        return difference, Metrics()


class Turn(TrainingProcessCallback):  # type: ignore[misc]
    """Waits between rounds, and says what the round before took."""

    def __init__(self, kind: str, channel: Channel, other: subprocess.Popen[str] | None) -> None:
        self.kind, self.channel, self.other = kind, channel, other
        self.round_no: int | None = None
        self.last = 0
        self.watch = Stopwatch()

    def after_central_iteration(
        self, aggregate_metrics: Any, model: Any, *, central_iteration: int
    ) -> tuple[bool, Metrics]:
        """Answer for the round that ended, then wait for the word to begin the next."""
        taken = self.watch.taken()
        if central_iteration == 0:
            self.channel.send({"ready": True})
        elif self.round_no is None or self.round_no == self.last:
            answer: dict[str, Any] = taken.as_dict()
            if self.round_no is not None:
                answer["loss"] = torch_net.held_out_loss(model.pytorch_model.layers, self.kind)
            self.channel.send(answer)
            self.round_no = None
        else:
            self.round_no += 1
            return False, Metrics()
        return self._wait(model), Metrics()

    def _wait(self, model: Any) -> bool:
        request = self.channel.next()
        if self.other is not None and self.other.stdin is not None:
            self.other.stdin.write(
                ("" if request is None else '{"do": "' + request["do"] + '"}') + "\n"
            )
            self.other.stdin.flush()
        if request is None:
            return True
        if request["do"] == "verify":
            torch_net.load_initial(model.pytorch_model.layers, self.kind)
            self.round_no, self.last = 1, torch_net.ROUNDS[-1]
        self.watch = Stopwatch()
        return False


def run(
    kind: str, clients: int, empty: bool, channel: Channel, other: subprocess.Popen[str] | None
) -> None:
    """Train until the harness hangs up."""
    torch.set_num_threads(1)
    net = PflNet()
    torch_net.load_initial(net.layers, kind)
    model = PyTorchModel(
        model=net,
        local_optimizer_create=lambda parameters, lr: torch.optim.Adam(
            parameters, lr=lr, fused=True
        ),
        central_optimizer=torch.optim.SGD(net.parameters(), lr=1.0),
    )
    turn = Turn(kind, channel, other)
    nothing = [torch.zeros(1, 1), torch.zeros(1)]

    def dataset(client: int) -> Dataset:
        return Dataset(
            nothing if empty else list(torch_net.client_rows(kind, int(client), turn.round_no))
        )

    sampler = get_user_sampler("minimize_reuse", list(range(clients)))
    # The empty step's first round is evaluated on rows of one column: there, metrics never look at
    # the net.
    users = FederatedDataset(dataset, sampler)
    (EmptyAveraging if empty else FederatedAveraging)().run(
        NNAlgorithmParams(
            central_num_iterations=_ENDLESS,
            evaluation_frequency=_ENDLESS,
            train_cohort_size=clients,
            val_cohort_size=0,
        ),
        SimulatedBackend(training_data=users, val_data=users),
        model,
        NNTrainHyperParams(local_learning_rate=LR, local_num_epochs=1, local_batch_size=BATCH),
        NNEvalHyperParams(local_batch_size=None),
        callbacks=[turn],
        send_metrics_to_platform=False,
    )


def main(kind: str, clients: str, step: str, other: subprocess.Popen[str] | None = None) -> None:
    """Serve the harness; `other` is the second process of two, if there is one."""
    np.random.seed(0)  # noqa: NPY002 - pfl draws its cohorts from numpy's global generator
    run(kind, int(clients), step == "empty", Channel(), other)
    if other is not None:
        other.wait()


if __name__ == "__main__":
    kind, clients, step = sys.argv[1:]
    main(kind, clients, step)
