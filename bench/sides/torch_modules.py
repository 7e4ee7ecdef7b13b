"""FedVocab's round as a peer would write it: one process, PyTorch and nothing else; each client's
table is a file.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, parameters_to_vector, rnn

from bench.clock import measure
from bench.lines import serve
from bench.shapes import ROWS


class PlainBiLSTM(nn.Module):
    """A client's words, one LSTM layer in both directions, a linear layer on its two last
    states.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        hidden = settings["hidden"][0]
        self.words = nn.Embedding(1, settings["embedding"])
        self.lstm = nn.LSTM(settings["embedding"], hidden, batch_first=True, bidirectional=True)
        self.drop, self.last = nn.Dropout(settings["dropout"]), nn.Linear(2 * hidden, 1)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """One logit per row."""
        lengths = (rows != 0).sum(1).clamp(min=1)
        packed = rnn.pack_padded_sequence(
            self.words(rows), lengths, batch_first=True, enforce_sorted=False
        )
        _, (state, _) = self.lstm(packed)
        logits: torch.Tensor = self.last(self.drop(torch.cat([state[0], state[1]], dim=1)))
        return logits[:, 0]


class MiniLM(nn.Module):
    """A client's word pieces, the pretrained transformer, a linear layer on the mean of its last
    states.
    """

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__()
        from transformers import AutoModel

        self.transformer = AutoModel.from_pretrained(
            settings["checkpoint"], add_pooling_layer=False
        )
        self.drop, self.last = (
            nn.Dropout(settings["dropout"]),
            nn.Linear(self.transformer.config.hidden_size, 1),
        )

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """One logit per row."""
        present = rows != 0
        present[:, 0] = True
        states = self.transformer(input_ids=rows, attention_mask=present.long()).last_hidden_state
        weight = present.unsqueeze(2).float()
        logits: torch.Tensor = self.last(self.drop((states * weight).sum(1) / weight.sum(1)))
        return logits[:, 0]


NETWORKS = {"bilstm": PlainBiLSTM, "minilm": MiniLM}
OURS = {  # what our engine calls a part of these networks, and what it is called here
    "bilstm": (("words.private", "words.weight"), ("reader.lstm.", "lstm.")),
    "minilm": (
        ("words.private", "transformer.embeddings.word_embeddings.weight"),
        ("reader.transformer.", "transformer."),
    ),
}
PRIVATE = {"bilstm": ("words.",), "minilm": ("transformer.embeddings.",)}


class PersonalLoop:
    """The shared parameters, one network all clients use in turn, and a folder with their own
    parts.
    """

    def __init__(self, kind: str, folder: Path, dropout: bool) -> None:
        self.kind, self.folder = kind, folder
        self.settings = torch.load(ROWS / f"worded-{kind}" / "settings.pt")
        self.rows = [
            torch.load(path) for path in sorted((ROWS / f"worded-{kind}").glob("client-*.pt"))
        ]
        self.net = NETWORKS[kind](self.settings).train()
        if not dropout:
            for module in self.net.modules():
                if isinstance(module, nn.Dropout):
                    module.p = 0.0
        self.shared = self.renamed(self.settings["shared"])
        for client, own in enumerate(self.rows):
            torch.save(self.renamed(own["private"]), folder / f"{client}.pt")

    def renamed(self, ours: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """Parameters under the names this network gives them."""
        named = {}
        for name, tensor in ours.items():
            for before, after in OURS[self.kind]:
                name = name.replace(before, after)
            named[name] = tensor
        return named

    def round(self, verified: bool = False) -> None:
        """Train every client from the shared parameters and average what came of them."""
        total = {name: torch.zeros_like(tensor) for name, tensor in self.shared.items()}
        for client, own in enumerate(self.rows):
            table = torch.load(self.folder / f"{client}.pt")
            self.fill({**self.shared, **table})
            if verified:
                torch.manual_seed(own["seed"])
            self.train_client(
                own,
                (
                    own["orders"]
                    if verified
                    else [torch.randperm(len(own["labels"])) for _ in range(2)]
                ),
            )
            named = dict(self.net.named_parameters())
            torch.save(
                {name: named[name].detach().clone() for name in table}, self.folder / f"{client}.pt"
            )
            for name, kept in total.items():
                kept += named[name].detach()
        self.shared = {name: kept / len(self.rows) for name, kept in total.items()}

    def fill(self, tensors: dict[str, torch.Tensor]) -> None:
        """Put parameters into the network; tables have a length of their own."""
        for name, parameter in self.net.named_parameters():
            if name in tensors:
                parameter.data = tensors[name].clone()

    def train_client(self, own: dict[str, Any], orders: list[torch.Tensor]) -> None:
        """Adapt the private part in one pass, then train everything for one epoch."""
        private = [
            one for name, one in self.net.named_parameters() if name.startswith(PRIVATE[self.kind])
        ]
        shared = [
            one
            for name, one in self.net.named_parameters()
            if not name.startswith(PRIVATE[self.kind])
        ]
        for one in shared:
            one.requires_grad_(False)
        self.epoch(own, orders[0], [private], falling=False)
        for one in shared:
            one.requires_grad_(True)
        self.epoch(own, orders[1], [shared, private], falling=True)

    def epoch(
        self,
        own: dict[str, Any],
        order: torch.Tensor,
        parts: list[list[nn.Parameter]],
        falling: bool,
    ) -> None:
        """Train some parameters for one epoch with a fresh optimiser."""
        lr, batch = self.settings["lr"], self.settings["batch"]
        moving = [one for part in parts for one in part]
        if self.kind == "bilstm":
            optimizer: torch.optim.Optimizer = torch.optim.Adam(moving, lr=lr, fused=True)
        else:
            optimizer = torch.optim.AdamW(moving, lr=lr, weight_decay=0.0, fused=True)
        batches = order.split(batch)  # type: ignore[no-untyped-call]
        for number, some in enumerate(batches):
            if falling:
                optimizer.param_groups[0]["lr"] = lr * (1 - number / len(batches))
            rows = own["rows"][some]
            logits = self.net(rows[:, : max(1, int((rows != 0).sum(1).max()))])
            loss = nn.functional.binary_cross_entropy_with_logits(logits, own["labels"][some])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            for part in parts:
                clip_grad_norm_(part, self.settings["clip_norm"])
            optimizer.step()

    def verify(self) -> dict[str, Any]:
        """Run the verified round; leave the update of the shared parameters, in our order, in a
        file.
        """
        before = parameters_to_vector(self.shared.values())
        self.round(verified=True)
        update = parameters_to_vector(self.shared.values()) - before
        update.numpy().tofile(ROWS / f"worded-{self.kind}" / "torch_update.f32")
        return {}


def main(kind: str, threads: str, dropout: str) -> None:
    """Serve the harness."""
    torch.set_num_threads(int(threads))
    with tempfile.TemporaryDirectory() as folder:
        loop = PersonalLoop(kind, Path(folder), dropout == "dropout")
        serve(
            lambda request: (
                loop.verify() if request["do"] == "verify" else measure(loop.round).as_dict()
            )
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
