"""Networks with a word-embedding table, part of which may be private to a client."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from tacit import plan
from tacit.errors import PlanError
from tacit.pretrained import load_network
from tacit.training.private.packing import pack_texts
from tacit.training.private.recurrent import compute_last_states, warm_up
from tacit.training.private.vocabulary import PADDING


class WordTable(nn.Module):
    """Word embeddings: shared rows first, then a client's private rows. Either part may be empty."""

    def __init__(self, shared_rows: int, width: int) -> None:
        super().__init__()
        self.shared = nn.Parameter(torch.zeros(shared_rows, width))
        self.private = nn.Parameter(torch.zeros(0, width))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Look up the vectors of table rows."""
        return nn.functional.embedding(rows, torch.cat([self.shared, self.private]))


class WordTableShape(NamedTuple):
    """Number of shared rows, vector width, number of dense features, and number of outputs."""

    shared_rows: int
    width: int
    dense: int
    outputs: int


class WordNetwork(nn.Module):
    """A word table, a sequence encoder, and a linear layer on its output and the further features."""

    def __init__(
        self,
        shape: WordTableShape,
        reader: nn.Module,
        read: int,
        dropout: float,
        word_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.words, self.reader, self.dense = (
            WordTable(shape.shared_rows, shape.width),
            reader,
            shape.dense,
        )
        self.drop_words, self.drop = nn.Dropout(word_dropout), nn.Dropout(dropout)
        self.last = nn.Linear(read + shape.dense, shape.outputs)
        self.private_parameters: tuple[str, ...] = (
            "words.private",
            *getattr(reader, "private_patterns", ()),
        )

    def forward(self, rows: torch.Tensor, dense: torch.Tensor | None = None) -> torch.Tensor:
        """Return logits."""
        return self.from_vectors(self.words(rows), rows != PADDING, dense)

    def from_vectors(
        self, vectors: torch.Tensor, present: torch.Tensor, dense: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return logits of word vectors; `present` marks words, not padding.

        Further features default to 0.
        """
        read = self.reader(self.drop_words(vectors), present)
        if self.dense:
            read = torch.cat(
                [read, dense if dense is not None else read.new_zeros(len(read), self.dense)],
                dim=1,
            )
        logits: torch.Tensor = self.last(self.drop(read))
        return logits


class BidirectionalReader(nn.Module):
    """One bidirectional LSTM layer; its output is the two last states."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        warm_up()
        self.lstm = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)

    def forward(self, vectors: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
        """Return the last states of both directions, concatenated."""
        lengths = present.sum(1).clamp(min=1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(
            vectors, lengths, batch_first=True, enforce_sorted=False
        )
        if (
            self.training or not torch.is_grad_enabled()
        ):  # it has no second derivative, which attacks need
            return compute_last_states(self.lstm, packed)
        _, (state, _) = self.lstm(packed)
        return torch.cat([state[0], state[1]], dim=1)


class TransformerReader(nn.Module):
    """A pretrained transformer; its output is the mean of its last hidden states.

    Its embedding table is replaced.
    """

    private_patterns = ("reader.transformer.embeddings.*",)

    def __init__(self, checkpoint: Path) -> None:
        super().__init__()
        self.transformer = _load_transformer(checkpoint)
        width = int(self.transformer.config.hidden_size)
        self.transformer.set_input_embeddings(nn.Embedding(1, width).requires_grad_(False))

    def forward(self, vectors: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
        """Return the mean hidden state over the words that are present."""
        seen = present.clone()
        seen[:, 0] = True
        if (
            self.transformer.config.model_type == "bert"
        ):  # other architectures number positions and mask words differently
            laid = pack_texts(seen.sum(1))
            settings = {"attention_mask": laid.unseen(vectors.dtype), "position_ids": laid.places()}
            return laid.means(
                self.transformer(inputs_embeds=laid.lines(vectors), **settings).last_hidden_state,
                seen.sum(1),
            )
        states = self.transformer(
            inputs_embeds=vectors, attention_mask=seen.long()
        ).last_hidden_state
        weight = seen.unsqueeze(2).to(states.dtype)
        mean: torch.Tensor = (states * weight).sum(1) / weight.sum(1)
        return mean


def build(model: plan.Worded, shape: WordTableShape, checkpoint: Path | None) -> WordNetwork:
    """Build the network of that name."""
    if isinstance(model, plan.BiLSTM):
        reader = BidirectionalReader(shape.width, model.hidden[0])
        return WordNetwork(shape, reader, 2 * model.hidden[0], model.dropout, model.word_dropout)
    if checkpoint is None:
        raise PlanError(
            "model.name = 'encoder' needs the folder of a checkpoint; set model.checkpoint"
        )
    return WordNetwork(
        shape, TransformerReader(checkpoint), shape.width, model.dropout, model.word_dropout
    )


def _load_transformer(checkpoint: Path) -> Any:
    try:
        found = load_network(checkpoint, attn_implementation="eager").float()
    except (OSError, ValueError) as error:
        raise PlanError(
            f"model.checkpoint: transformers cannot load {checkpoint} ({error})"
        ) from None
    if getattr(found, "pooler", None) is not None:
        found.pooler = None  # unused; it would be sent for nothing
    return found
