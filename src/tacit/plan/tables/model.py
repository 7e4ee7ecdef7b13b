"""[model]: the network to train; one class per network."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, assert_never

from annotated_types import Ge, Le, Len
from pydantic.dataclasses import dataclass

from tacit.plan.kinds import OWN, STRICT, Many, Name, Needs, Own, Share
from tacit.plan.tables.features import Text

if TYPE_CHECKING:
    from tacit.plan.plan import Plan

_MOST_WEIGHTS = 1_000_000_000
"""Weights between hidden layers: 4 GB as float32, for each of several copies in training."""

FLAT: tuple[Text, ...] = ("binary", "listed", "encoder", "encoder+listed", "encoder+binary")
"""Forms of text that make one row of numbers."""

Width = Annotated[int, Ge(1), Le(100_000)]
Widths = Annotated[Many[Width], Len(0, 100)]


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Logistic:
    """Logistic regression."""

    reads: ClassVar[tuple[Text, ...]] = FLAT
    hidden: ClassVar[tuple[int, ...]] = ()
    name: Literal["logistic"] = "logistic"
    bias: bool = True
    """Add a constant to each output. Where updates are clipped to an L2 norm, it takes up much of
    that norm.
    """
    start: Literal["random", "zero"] = "random"
    """Initial weights: small random numbers, or zeros."""

    @property
    def starts_at_zero(self) -> bool:
        """Whether all initial weights are zero."""
        match self.start:
            case "random":
                return False
            case "zero":
                return True
            case _:
                assert_never(self.start)


@dataclass(frozen=True, kw_only=True, config=STRICT)
class MLP:
    """A feed-forward network with ReLU between its layers."""

    reads: ClassVar[tuple[Text, ...]] = FLAT
    name: Literal["mlp"] = "mlp"
    hidden: Annotated[
        Many[Width],
        Len(1, 100),
        Needs("the widths of the hidden layers, for example [100, 50, 25]"),
    ]
    """Widths of the hidden layers."""
    dropout: Share = 0.0
    """Dropout rate of each hidden layer's outputs."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class LSTMStep:
    """An LSTM layer with the whole row as its only step, then a feed-forward network."""

    reads: ClassVar[tuple[Text, ...]] = FLAT
    name: Literal["lstm_step"] = "lstm_step"
    hidden: Widths = ()
    """Widths of the hidden layers."""
    units: Width = 50
    """Width of the LSTM's state."""
    dropout: Share = 0.0
    """Dropout rate of each hidden layer's outputs."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Embedding:
    """The mean of the word vectors, then a feed-forward network."""

    reads: ClassVar[tuple[Text, ...]] = ("sequence",)
    name: Literal["embedding"] = "embedding"
    hidden: Widths = ()
    """Widths of the hidden layers."""
    embedding: Width = 100
    """Width of a word vector."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class LSTM:
    """One LSTM layer of width 50 over the word vectors, then a feed-forward network."""

    reads: ClassVar[tuple[Text, ...]] = ("sequence",)
    name: Literal["lstm"] = "lstm"
    hidden: Widths = ()
    """Widths of the hidden layers."""
    embedding: Width = 100
    """Width of a word vector."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class BiLSTM:
    """A bidirectional LSTM over word embeddings, which may be private to each client."""

    reads: ClassVar[tuple[Text, ...]] = ("words",)
    name: Literal["bilstm"] = "bilstm"
    hidden: Annotated[Many[Width], Len(1, 1), Needs("one width (per direction), for example [300]")]
    """A list with one width, per direction."""
    embedding: Width = 100
    """Width of a word vector."""
    dropout: Share = 0.0
    """Dropout rate of the last layer's inputs."""
    word_dropout: Share = 0.0
    """Dropout rate of the numbers in word vectors."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Encoder:
    """A transformer that starts from a checkpoint; its word-piece embeddings may be private to each
    client.
    """

    reads: ClassVar[tuple[Text, ...]] = ("pieces",)
    name: Literal["encoder"] = "encoder"
    checkpoint: Annotated[Name, Needs("'minilm' or a folder with a checkpoint")]
    """`minilm`, or a folder that `transformers` can load."""
    dropout: Share = 0.0
    """Dropout rate of the last layer's inputs."""
    word_dropout: Share = 0.0
    """Dropout rate of the numbers in word vectors."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class ViT:
    """A small vision transformer: square images divided into patches, encoder layers, and a linear
    layer (`head`).
    """

    reads: ClassVar[tuple[Text, ...]] = ("binary",)
    name: Literal["vit"] = "vit"
    patch: Annotated[int, Ge(1), Le(1000)] = 7
    """Side of a patch in pixels; must divide the images' side (28 for MNIST, 32 for CIFAR-10)."""
    width: Width = 64
    """Numbers per patch inside the network; a multiple of `heads`."""
    layers: Annotated[int, Ge(1), Le(100)] = 3
    """Encoder layers."""
    heads: Annotated[int, Ge(1), Le(1000)] = 4
    """Attention heads per layer."""


@dataclass(frozen=True, kw_only=True, config=STRICT)
class OwnModule:
    """Your own `nn.Module`, constructed with the arguments `inputs` and `outputs`."""

    reads: ClassVar[tuple[Text, ...]] = (*FLAT, "sequence")
    name: Annotated[str, Own("models"), Needs(f"a class as {OWN}")]
    """A class as `package.module:name`, in an installed package or in a folder of PYTHONPATH, or an
    entry point of the group `tacit.models` ([extend.md](guides/extend.md)). With `@sha256:` and the
    SHA-256 of its file at the end, other code is refused; a run writes it into its own plan.
    """


Model = Logistic | MLP | LSTMStep | Embedding | LSTM | BiLSTM | Encoder | ViT | OwnModule
Compiled = Logistic | MLP | LSTMStep | Embedding
"""Networks that train without PyTorch."""
Layered = Logistic | MLP | Embedding
"""Networks of plain layers, which other formats can represent."""
Worded = BiLSTM | Encoder
"""Networks with word embeddings, which may be private to each client."""


def problems(plan: Plan) -> list[str]:
    """List impossible settings of the model, one sentence each."""
    found, model = [], plan.model
    weights = sum(wide * narrow for wide, narrow in pairwise(getattr(model, "hidden", ())))
    if weights > _MOST_WEIGHTS:
        found.append(
            f"model.hidden may have at most {_MOST_WEIGHTS:,} weights between hidden layers, got"
            f" {weights:,}"
        )
    if isinstance(model, ViT):
        if model.width % model.heads:
            found.append(
                f"model.width must be a multiple of model.heads = {model.heads}, got {model.width}"
            )
        if plan.features.image != "pixels" or plan.features.project:
            found.append(
                "model.name = 'vit' reads pixels: it requires features.image = 'pixels' and no"
                " features.project"
            )
    return found
