"""A malicious server: a model whose cells each respond to few words, so that a gradient row holds
one word's vector alone.

An honest model mixes all words of a batch, and the span of the gradient says nothing once there are
more words than a vector has dimensions. Here every cell has a gate in a direction of its own that
opens for about one word of a batch, forgets nothing and is summed by the last layer. The gradient
of its candidate weights is then the sum of the vectors that opened the gate. Source: trap weights,
Boenisch et al. 2021 (arXiv:2112.02918), here for an LSTM.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from tacit.audit.words.dictionaries import Dictionary
from tacit.training.private.word_networks import BidirectionalReader, WordNetwork

_STEEP = 200.0
_OPEN = 12.0  # a gate's logit at which it counts as open
_SURE = 0.9  # two vectors of words seldom point so much alike; a private table may have drifted
_SAMPLE = 20_000
_DIRECTIONS = ("", "_reverse")


@torch.no_grad()
def set_traps(
    module: WordNetwork, public: Dictionary, words: int, generator: np.random.Generator
) -> None:
    """Overwrite the model so that each cell responds to about one of `words` words drawn from the
    public ones.
    """
    assert isinstance(module.reader, BidirectionalReader), "only an LSTM has gates to open"
    lstm, hidden = module.reader.lstm, module.reader.lstm.hidden_size
    width = public.vectors.shape[1]
    chance = 1 / (
        np.arange(len(public.words)) + 2.7
    )  # Zipf's law: the words stand most frequent first
    usual = public.vectors[generator.choice(len(chance), _SAMPLE, p=chance / chance.sum())]
    for ending in _DIRECTIONS:
        first, again, bias, bias_again = (
            getattr(lstm, f"{name}_l0{ending}")
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        ways = generator.standard_normal((hidden, width)).astype(np.float32)
        ways /= np.linalg.norm(ways, axis=1, keepdims=True)
        limits = np.quantile(usual @ ways.T, 1 - 1 / max(2, words), axis=0)
        for one in (first, again, bias, bias_again):
            one.zero_()
        first[:hidden] = torch.from_numpy(_STEEP * ways)  # input gates: the traps
        bias[:hidden] = torch.from_numpy((-_STEEP * limits).astype(np.float32))
        bias[hidden : 2 * hidden] = _OPEN  # forget gates
        bias[3 * hidden :] = _OPEN  # output gates
    module.last.weight.fill_(0.01)
    module.last.weight.add_(
        0.01 * torch.randn(module.last.weight.shape, generator=torch.Generator().manual_seed(0))
    )


def read_traps(gradients: dict[str, torch.Tensor], dictionary: Dictionary, most: int) -> list[str]:
    """The words whose vectors stand alone in a gradient row, each as often as cells in different
    directions caught it.
    """
    rows = np.concatenate(
        [_candidates(gradients[f"reader.lstm.weight_ih_l0{ending}"]) for ending in _DIRECTIONS]
    )
    lengths = np.linalg.norm(rows, axis=1)
    rows = rows[lengths > 1e-7] / lengths[lengths > 1e-7, None]
    if not len(rows):
        return []
    known = dictionary.vectors / np.maximum(
        np.linalg.norm(dictionary.vectors, axis=1, keepdims=True), 1e-9
    )
    alike = np.abs(rows @ known.T)
    caught = alike.argmax(axis=1)[alike.max(axis=1) > _SURE]
    return [dictionary.words[place] for place in np.unique(caught)[:most]]


def _candidates(weights: torch.Tensor) -> NDArray[np.float32]:
    hidden = len(weights) // 4
    found: NDArray[np.float32] = weights[2 * hidden : 3 * hidden].numpy()
    return found
