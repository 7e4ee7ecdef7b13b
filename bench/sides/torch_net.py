"""The round workload in PyTorch, as the peers and the bare loop share it: rows, net, one client's
local epoch.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from bench.shapes import BATCH, LR, ROWS, ROWS_PER_CLIENT, VERIFIED_ROUNDS, WIDTHS


@cache
def rows(kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    """All clients' rows as one resident dense matrix, and their labels."""
    return _tensor(kind, "dense"), _tensor(kind, "labels")


def _tensor(kind: str, name: str) -> torch.Tensor:
    return torch.from_numpy(np.load(ROWS / kind / f"{name}.npy").astype(np.float32, copy=False))


def client_rows(kind: str, client: int, round_no: int | None) -> tuple[torch.Tensor, torch.Tensor]:
    """One client's rows: as they lie (a view, nothing is copied), or in the order of a
    verified round.
    """
    inputs, labels = rows(kind)
    first = client * ROWS_PER_CLIENT
    own = slice(first, first + ROWS_PER_CLIENT)
    if round_no is None:
        return inputs[own], labels[own]
    order = torch.from_numpy(_orders(kind)[round_no - 1, client].astype(np.int64))
    return inputs[own][order], labels[own][order]


@cache
def _orders(kind: str) -> Any:
    return np.load(ROWS / kind / "orders.npy")


def net() -> nn.Sequential:
    """MLP."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(WIDTHS):
        layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def load_initial(model: nn.Module, kind: str) -> None:
    """Set the model to the first model all contenders start from."""
    flat, start = np.load(ROWS / kind / "initial.npy"), 0
    parameters = list(model.parameters())
    with torch.no_grad():
        for weight, bias in zip(parameters[::2], parameters[1::2], strict=True):
            fan_out, fan_in = weight.shape
            weight.copy_(
                torch.from_numpy(flat[start : start + weight.numel()].reshape(fan_in, fan_out).T)
            )
            start += weight.numel()
            bias.copy_(torch.from_numpy(flat[start : start + fan_out]))
            start += fan_out


def flat_of(model: nn.Module) -> Any:
    """Model as one vector in the order of initial.npy."""
    parameters = list(model.parameters())
    pairs = zip(parameters[::2], parameters[1::2], strict=True)
    parts = [
        part for weight, bias in pairs for part in (weight.detach().T.reshape(-1), bias.detach())
    ]
    return torch.cat(parts).numpy()


def train(model: nn.Module, inputs: torch.Tensor, labels: torch.Tensor, fused: bool = True) -> None:
    """Run one local epoch with a fresh Adam."""
    optimizer = torch.optim.Adam(model.parameters(), lr=LR, fused=fused)
    for first in range(0, len(labels), BATCH):
        logits = model(inputs[first : first + BATCH])[:, 0]
        loss = nn.functional.binary_cross_entropy_with_logits(logits, labels[first : first + BATCH])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def held_out_loss(model: nn.Module, kind: str) -> float:
    """Mean logistic loss on the held-out rows."""
    with torch.no_grad():
        logits = model(_tensor(kind, "test_dense"))[:, 0]
        return float(
            nn.functional.binary_cross_entropy_with_logits(logits, _tensor(kind, "test_labels"))
        )


ROUNDS = tuple(range(1, VERIFIED_ROUNDS + 1))
