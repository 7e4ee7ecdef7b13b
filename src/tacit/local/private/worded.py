"""Networks that read words through a table of vectors, part of which may be a client's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from tacit import plan
from tacit.errors import PlanError
from tacit.local.private.recurrent import last_states, make_ready
from tacit.local.private.side_by_side import side_by_side
from tacit.local.private.vocabulary import PADDING
from tacit.pretrained import load_network


class WordTable(nn.Module):
    """Vectors of words: shared rows first, then a client's private ones. Either part may be empty."""

    def __init__(self, shared_rows: int, width: int) -> None:
        super().__init__()
        self.shared = nn.Parameter(torch.zeros(shared_rows, width))
        self.private = nn.Parameter(torch.zeros(0, width))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the vectors of table rows."""
        return nn.functional.embedding(rows, torch.cat([self.shared, self.private]))


class Shape(NamedTuple):
    """The shared rows of a word table and the width of its vectors, how many inputs stand beside the words, and the outputs."""

    shared_rows: int
    width: int
    beside: int
    outputs: int


class Worded(nn.Module):
    """A word table, a reader of vector sequences, and a linear layer on what it read and what stands beside the words."""

    def __init__(self, shape: Shape, reader: nn.Module, read: int, dropout: float, word_dropout: float = 0.0) -> None:
        super().__init__()
        self.words, self.reader, self.beside = WordTable(shape.shared_rows, shape.width), reader, shape.beside
        self.drop_words, self.drop = nn.Dropout(word_dropout), nn.Dropout(dropout)
        self.last = nn.Linear(read + shape.beside, shape.outputs)
        self.private_parameters: tuple[str, ...] = ("words.private", *getattr(reader, "beside_the_words", ()))

    def forward(self, rows: torch.Tensor, beside: torch.Tensor | None = None) -> torch.Tensor:
        """Return logits."""
        return self.from_vectors(self.words(rows), rows != PADDING, beside)

    def from_vectors(self, vectors: torch.Tensor, present: torch.Tensor, beside: torch.Tensor | None = None) -> torch.Tensor:
        """Return logits of word vectors; `present` is false where a row has ended. What stands beside is 0 if not given."""
        read = self.reader(self.drop_words(vectors), present)
        if self.beside:
            read = torch.cat([read, beside if beside is not None else read.new_zeros(len(read), self.beside)], dim=1)
        logits: torch.Tensor = self.last(self.drop(read))
        return logits


class BothWays(nn.Module):
    """One bidirectional LSTM layer; what it read is its two last states."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        make_ready()
        self.lstm = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)

    def forward(self, vectors: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
        """Return the last state of each direction, side by side."""
        lengths = present.sum(1).clamp(min=1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(vectors, lengths, batch_first=True, enforce_sorted=False)
        if self.training or not torch.is_grad_enabled():  # its gradient has no gradient; attacks on a model at rest ask for one
            return last_states(self.lstm, packed)
        _, (state, _) = self.lstm(packed)
        return torch.cat([state[0], state[1]], dim=1)


class Encoder(nn.Module):
    """A pretrained transformer; what it read is the mean of its last states. Its own word table is replaced by ours."""

    beside_the_words = ("reader.transformer.embeddings.*",)

    def __init__(self, checkpoint: Path) -> None:
        super().__init__()
        self.transformer = _loaded(checkpoint)
        width = int(self.transformer.config.hidden_size)
        self.transformer.set_input_embeddings(nn.Embedding(1, width).requires_grad_(False))

    def forward(self, vectors: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
        """Return the mean over the words that are present."""
        seen = present.clone()
        seen[:, 0] = True
        if self.transformer.config.model_type == "bert":  # others count places and mask words in ways of their own
            laid = side_by_side(seen.sum(1))
            settings = {"attention_mask": laid.unseen(vectors.dtype), "position_ids": laid.places()}
            return laid.means(self.transformer(inputs_embeds=laid.lines(vectors), **settings).last_hidden_state, seen.sum(1))
        states = self.transformer(inputs_embeds=vectors, attention_mask=seen.long()).last_hidden_state
        weight = seen.unsqueeze(2).to(states.dtype)
        mean: torch.Tensor = (states * weight).sum(1) / weight.sum(1)
        return mean


def build(model: plan.Worded, shape: Shape, checkpoint: Path | None) -> Worded:
    """Return the network of that name."""
    if isinstance(model, plan.BiLSTM):
        reader = BothWays(shape.width, model.hidden[0])
        return Worded(shape, reader, 2 * model.hidden[0], model.dropout, model.word_dropout)
    if checkpoint is None:
        raise PlanError("model.name = 'encoder' needs a checkpoint folder, got none; run it from a plan with model.checkpoint")
    return Worded(shape, Encoder(checkpoint), shape.width, model.dropout, model.word_dropout)


def _loaded(checkpoint: Path) -> Any:
    try:
        found = load_network(checkpoint, attn_implementation="eager").float()
    except (OSError, ValueError) as error:
        raise PlanError(f"model.checkpoint: needs a folder transformers can load, got {checkpoint} ({error})") from None
    if getattr(found, "pooler", None) is not None:
        found.pooler = None  # not used, and would be sent for nothing
    return found
