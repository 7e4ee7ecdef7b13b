"""Built-in networks in PyTorch: reference versions of the compiled nets, and networks that only
PyTorch runs.
"""

from __future__ import annotations

import itertools
from typing import assert_never

import torch
from torch import nn

from tacit import plan
from tacit.errors import PlanError
from tacit.rows import find_picture_shape

Built = plan.Logistic | plan.MLP | plan.LSTMStep | plan.Embedding | plan.LSTM | plan.ViT


def build(model: Built, inputs: int, outputs: int, dense: int = 0) -> nn.Module:
    """Build the built-in network of that name; `dense` is the number of features in addition to a
    word sequence.
    """
    match model:
        case plan.Logistic():
            net = FeedForward(inputs, (), outputs, bias=model.bias)
            if model.starts_at_zero:
                for parameter in net.parameters():
                    nn.init.zeros_(parameter)
            return net
        case plan.MLP():
            return FeedForward(inputs, model.hidden, outputs, dropout=model.dropout)
        case plan.LSTMStep():
            return StepThenLayers(inputs, model, outputs)
        case plan.ViT():
            return VisionTransformer(model, inputs, outputs)
        case plan.Embedding():
            return PooledEmbedding(inputs, model.embedding, model.hidden, outputs, dense)
        case plan.LSTM():
            return RecurrentEmbedding(inputs, model.embedding, model.hidden, outputs, dense)
        case _:
            assert_never(model)


class FeedForward(nn.Module):
    """Linear layers with ReLU and dropout between them; Glorot-uniform weights, zero biases."""

    def __init__(
        self,
        inputs: int,
        hidden: tuple[int, ...],
        outputs: int,
        *,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.dropout = dropout
        widths = (inputs, *hidden, outputs)
        self.layers = nn.ModuleList(
            nn.Linear(a, b, bias=bias) for a, b in itertools.pairwise(widths)
        )
        for name, parameter in self.named_parameters():
            if name.endswith("weight"):
                nn.init.xavier_uniform_(parameter)
            else:
                nn.init.zeros_(parameter)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        for layer in self.layers[:-1]:
            x = nn.functional.dropout(torch.relu(layer(x)), self.dropout, self.training)
        last: torch.Tensor = self.layers[-1](x)
        return last


class LstmStep(nn.Module):
    """A single LSTM step from zero state; parameter names are nn.LSTM's, with one bias per gate as
    in Keras.
    """

    def __init__(self, inputs: int, units: int) -> None:
        super().__init__()
        self.weight_ih_l0 = nn.Parameter(torch.empty(4 * units, inputs))
        self.weight_hh_l0 = nn.Parameter(torch.empty(4 * units, units))
        self.bias_ih_l0 = nn.Parameter(torch.zeros(4 * units))
        nn.init.xavier_uniform_(self.weight_ih_l0)
        nn.init.xavier_uniform_(self.weight_hh_l0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the state after the step."""
        enter, _, value, leave = nn.functional.linear(x, self.weight_ih_l0, self.bias_ih_l0).chunk(
            4, dim=1
        )
        return torch.sigmoid(leave) * torch.tanh(torch.sigmoid(enter) * torch.tanh(value))


class StepThenLayers(nn.Module):
    """An LSTM layer that reads the whole row as one step, followed by a feed-forward net."""

    def __init__(self, inputs: int, model: plan.LSTMStep, outputs: int) -> None:
        super().__init__()
        self.lstm = LstmStep(inputs, model.units)
        self.head = FeedForward(model.units, model.hidden, outputs, dropout=model.dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        logits: torch.Tensor = self.head(self.lstm(x))
        return logits


class PooledEmbedding(nn.Module):
    """Mean of the word embeddings without padding (the last index), followed by a feed-forward net."""

    def __init__(
        self, inputs: int, embedding: int, hidden: tuple[int, ...], outputs: int, dense: int = 0
    ) -> None:
        super().__init__()
        self.table = nn.EmbeddingBag(inputs, embedding, mode="mean", padding_idx=inputs - 1)
        nn.init.uniform_(self.table.weight, -0.05, 0.05)
        self.head = FeedForward(embedding + dense, hidden, outputs)

    def forward(self, tokens: torch.Tensor, *dense: torch.Tensor) -> torch.Tensor:
        """Return logits."""
        logits: torch.Tensor = self.head(torch.cat([self.table(tokens), *dense], dim=1))
        return logits


class RecurrentEmbedding(nn.Module):
    """Word embeddings and an LSTM layer of 50 units; its last state and the dense features feed a
    feed-forward net.
    """

    def __init__(
        self, inputs: int, embedding: int, hidden: tuple[int, ...], outputs: int, dense: int = 0
    ) -> None:
        super().__init__()
        self.padding = inputs - 1
        self.table = nn.Embedding(inputs, embedding, padding_idx=inputs - 1)
        nn.init.uniform_(self.table.weight, -0.05, 0.05)
        self.lstm = nn.LSTM(embedding, 50, batch_first=True)
        self.head = FeedForward(50 + dense, hidden, outputs)

    def forward(self, tokens: torch.Tensor, *dense: torch.Tensor) -> torch.Tensor:
        """Return logits from the state after the last real word."""
        lengths = (tokens != self.padding).sum(1).clamp(min=1)
        states, _ = self.lstm(self.table(tokens[:, : int(lengths.max())]))
        read = states[torch.arange(len(tokens)), lengths - 1]
        logits: torch.Tensor = self.head(torch.cat([read, *dense], dim=1))
        return logits


class VisionTransformer(nn.Module):
    """Encoder layers over patches of square images; the mean of their outputs feeds the linear
    layer `head`.
    """

    def __init__(self, model: plan.ViT, inputs: int, outputs: int) -> None:
        super().__init__()
        shape = find_picture_shape(inputs)
        if shape is None or shape[0] % model.patch:
            got = f"a side of {shape[0]} pixels" if shape else f"{inputs:,} values a row"
            raise PlanError(
                f"model.patch = {model.patch} must divide the side of square images, but the "
                f"rows have {got}; change model.patch"
            )
        self.side, self.channels, self.patch = *shape, model.patch
        count = (self.side // self.patch) ** 2
        self.patches = nn.Linear(self.patch**2 * self.channels, model.width)
        self.places = nn.Parameter(0.02 * torch.randn(count, model.width))
        # One by one: nn.TransformerEncoder would begin with copies of one layer, all with equal
        # weights.
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                model.width,
                model.heads,
                2 * model.width,
                dropout=0.0,
                activation="gelu",
                batch_first=True,
                norm_first=True,
            )
            for _ in range(model.layers)
        )
        self.norm = nn.LayerNorm(model.width)
        self.head = nn.Linear(model.width, outputs)

    def forward(self, pictures: torch.Tensor) -> torch.Tensor:
        """Return logits of images given as flat rows of pixels."""
        across = self.side // self.patch
        grid = pictures.view(-1, across, self.patch, across, self.patch, self.channels).transpose(
            2, 3
        )
        states = self.patches(2 * grid.reshape(len(pictures), across**2, -1) - 1) + self.places
        for layer in self.layers:
            states = layer(states)
        logits: torch.Tensor = self.head(self.norm(states).mean(1))
        return logits
