"""Gradient inversion: word vectors from what a server sees, in two ways, both from the update
alone.

The span: the gradient of the first layer's weights is a sum of outer products with that layer's
inputs, so while a batch has fewer words than a vector has coordinates, the inputs span its row
space and a word is tested by projecting it. The search: dummy vectors are optimised until the
gradient they give equals the one that was seen (Zhu et al. 2019), here inside the span, with the
labels read off the last layer's bias first.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from tacit.training.modules.learner import compute_loss
from tacit.training.private.word_networks import WordNetwork

Matrix = NDArray[np.float32]


@contextmanager
def disable_onednn() -> Iterator[None]:
    """Compute without oneDNN. PyTorch then warns about TF32 on Intel GPUs, which are not used here;
    the warning is suppressed.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="TF32 acceleration", category=UserWarning)
        with torch.backends.mkldnn.flags(enabled=False):
            yield


@dataclass(frozen=True)
class ObservedUpdate:
    """What the server received from one client: the change of each shared parameter, by name, as a
    descent direction.
    """

    gradients: dict[str, torch.Tensor]


@dataclass(frozen=True)
class RecoveredVectors:
    """What an attacker has before it uses a dictionary: a basis of the span, and vectors for each
    word position (or none).
    """

    basis: Matrix
    vectors: Matrix
    labels: NDArray[np.int64]
    distance: float


def compute_gradient(
    module: WordNetwork, rows: torch.Tensor, labels: torch.Tensor, *dense: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Gradient of the training loss for every parameter, without dropout."""
    module.eval()
    module.zero_grad()
    with disable_onednn():
        compute_loss(module(rows, *dense), labels).backward()  # type: ignore[no-untyped-call]
    return {
        name: one.grad.detach().clone()
        for name, one in module.named_parameters()
        if one.grad is not None
    }


def stack_first_layer(gradients: dict[str, torch.Tensor]) -> Matrix:
    """Stack the first layer's weight gradients: their rows are mixtures of the layer's inputs."""
    lstm = [one for name, one in gradients.items() if name.startswith("reader.lstm.weight_ih")]
    attention = [
        one
        for name, one in gradients.items()
        if ".layer.0.attention.self." in name and name.endswith(".weight")
    ]
    return torch.cat(lstm or attention).numpy()


def find_span(stacked: Matrix, most: int, tiny: float = 1e-4) -> Matrix:
    """Orthonormal basis (as rows) of the first layer's inputs, at most `most` of them."""
    triangle = np.linalg.qr(
        stacked.astype(np.float64), mode="r"
    )  # has the same directions, in far fewer rows
    _, sizes, directions = np.linalg.svd(triangle, full_matrices=False)
    rank = int((sizes > tiny * sizes[0]).sum()) if sizes.size and sizes[0] > 0 else 0
    return directions[: min(rank, most)].astype(np.float32)


def recover_labels(gradients: dict[str, torch.Tensor], rows: int) -> NDArray[np.int64]:
    """Infer the labels of a batch from the last layer's bias gradient: exact for one row, by share
    for more.

    A bias gradient is the mean of (probability - truth): the truth is where it is most negative.
    """
    bias = gradients["last.bias"].double().numpy()
    if len(bias) == 1:
        ones = round(rows * float(np.clip(0.5 - bias[0], 0, 1)))
        return np.array([1] * ones + [0] * (rows - ones), np.int64)
    left, found = bias.copy(), []
    for _ in range(rows):
        label = int(left.argmin())
        found.append(label)
        left[label] += 1 / rows
    return np.array(sorted(found), np.int64)


def invert(
    module: WordNetwork,
    seen: ObservedUpdate,
    present: torch.Tensor,
    iterations: int,
    generator: torch.Generator,
    optimizer: str = "lbfgs",
) -> RecoveredVectors:
    """Search for vectors whose gradient is closest to the one seen; return the best iterate, not
    the last. The number of words of each row is assumed to be known, which favours the attacker.
    """
    words = int(present.sum())
    basis = find_span(stack_first_layer(seen.gradients), words)
    labels = recover_labels(seen.gradients, len(present))
    wanted = {name: one for name, one in seen.gradients.items() if not name.startswith("words.")}
    width = module.words.private.shape[1]
    frame = (
        torch.from_numpy(basis)
        if hasattr(module.reader, "lstm") and len(basis)
        else torch.eye(width)
    )
    weights = (0.3 * torch.randn(*present.shape, len(frame), generator=generator)).requires_grad_()
    best = (float("inf"), weights.detach().clone())
    parameters = {name: dict(module.named_parameters())[name] for name in wanted}
    for one in module.parameters():
        one.requires_grad_(True)
    steps = (
        torch.optim.LBFGS(
            [weights], lr=0.5, max_iter=10, history_size=20, line_search_fn="strong_wolfe"
        )
        if optimizer == "lbfgs"
        else torch.optim.Adam([weights], lr=0.05)
    )

    def closure() -> torch.Tensor:
        nonlocal best
        steps.zero_grad()
        loss = compute_loss(module.from_vectors(weights @ frame, present), torch.from_numpy(labels))
        ours = torch.autograd.grad(
            loss, list(parameters.values()), create_graph=True, allow_unused=True
        )
        pairs = [
            (a, wanted[name]) for a, name in zip(ours, parameters, strict=True) if a is not None
        ]
        apart = sum(((a - b) ** 2).sum() / (b**2).sum().clamp(min=1e-12) for a, b in pairs)
        assert isinstance(apart, torch.Tensor)
        if apart.item() < best[0]:
            best = (apart.item(), weights.detach().clone())
        apart.backward()  # type: ignore[no-untyped-call]
        return apart

    module.eval()
    with disable_onednn():
        for _ in range(iterations):
            steps.step(closure)  # type: ignore[no-untyped-call]
            if best[0] < 1e-6:
                break
    vectors = (best[1] @ frame)[present].numpy().astype(np.float32)
    return RecoveredVectors(basis, vectors, labels, best[0])
