"""Inversion on a small net: the span, the labels and the search find what is there."""

import subprocess
import sys

import numpy as np
import pytest
import torch

from tacit.audit.words.dictionaries import Dictionary, find_inside_span, find_nearest
from tacit.audit.words.inversion import (
    ObservedUpdate,
    compute_gradient,
    find_span,
    invert,
    recover_labels,
    stack_first_layer,
)
from tacit.training.private.word_networks import BidirectionalReader, WordNetwork, WordTableShape


@pytest.fixture
def net() -> WordNetwork:
    torch.manual_seed(0)
    made = WordNetwork(
        WordTableShape(shared_rows=0, width=12, dense=0, outputs=3),
        BidirectionalReader(12, 10),
        20,
        0.0,
    )
    made.words.private.data = torch.randn(60, 12)
    return made


def test_the_span_names_every_word_of_a_text(net) -> None:
    rows = torch.tensor([[5, 17, 33, 41]])
    gradients = compute_gradient(net, rows, torch.tensor([1]))
    table = Dictionary(tuple(map(str, range(60))), net.words.private.detach().numpy())
    assert set(find_inside_span(find_span(stack_first_layer(gradients), 4), table, 4)) == {
        "5",
        "17",
        "33",
        "41",
    }


@pytest.mark.parametrize("labels", [[0], [2], [0, 2], [1, 1, 2, 0]])
def test_labels_are_read_off_the_bias(net, labels) -> None:
    rows = torch.randint(2, 60, (len(labels), 5))
    with torch.no_grad():
        net.last.weight.zero_()
        net.last.bias.zero_()
    assert recover_labels(
        compute_gradient(net, rows, torch.tensor(labels)), len(labels)
    ).tolist() == sorted(labels)


def test_the_search_finds_the_vectors(net) -> None:
    rows = torch.tensor([[5, 17, 33]])
    gradients = {
        name: one
        for name, one in compute_gradient(net, rows, torch.tensor([1])).items()
        if not name.startswith("words")
    }
    found = invert(
        net,
        ObservedUpdate(gradients),
        torch.ones(1, 3, dtype=torch.bool),
        30,
        torch.Generator().manual_seed(1),
    )
    table = Dictionary(tuple(map(str, range(60))), net.words.private.detach().numpy())
    assert found.distance < 1e-2
    assert set(find_nearest(found.vectors, table)) == {"5", "17", "33"}
    assert np.isfinite(found.vectors).all()


def test_inputs_beside_the_words_count_as_nothing_for_who_does_not_know_them() -> None:
    torch.manual_seed(1)
    net = WordNetwork(
        WordTableShape(shared_rows=9, width=4, dense=2, outputs=1),
        BidirectionalReader(4, 3),
        6,
        0.0,
    )
    rows = torch.tensor([[2, 3, 4]])
    vectors, present = net.words(rows), rows != 0
    assert torch.equal(net.from_vectors(vectors, present), net(rows, torch.zeros(1, 2)))
    assert not torch.equal(net.from_vectors(vectors, present), net(rows, torch.ones(1, 2)))


def test_switching_onednn_off_warns_nobody() -> None:
    """PyTorch warns about TF32 on Intel GPUs at the first switch of a process, so a process of its own tries it."""
    code = (
        "from tacit.audit.words.inversion import disable_onednn\nwith disable_onednn():\n    pass"
    )
    said = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    assert "TF32" not in said.stderr
