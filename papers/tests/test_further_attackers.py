"""Further attackers: each reads what it is built to read, and nothing where that is taken away."""

import numpy as np
import pytest
import torch

from tacit.audit.words.dictionaries import Dictionary
from tacit.audit.words.inversion import compute_gradient, find_span, stack_first_layer
from tacit.training.private.word_networks import BidirectionalReader, WordNetwork, WordTableShape
from tacit_papers.fedvocab.attribute import predict_property, project_message
from tacit_papers.fedvocab.crafted import read_traps, set_traps

WORDS = tuple(map(str, range(400)))


@pytest.fixture
def net() -> WordNetwork:
    torch.manual_seed(0)
    made = WordNetwork(
        WordTableShape(shared_rows=0, width=16, dense=0, outputs=1),
        BidirectionalReader(16, 60),
        120,
        0.0,
    )
    made.words.private.data = torch.randn(400, 16)
    return made


def test_a_crafted_reader_reads_words_where_the_span_is_full(net) -> None:
    table = Dictionary(WORDS, net.words.private.detach().numpy().copy())
    rows = torch.from_numpy(np.random.default_rng(1).integers(2, 400, (4, 8)))
    labels = torch.tensor([1, 1, 1, 1])
    there = {WORDS[row] for row in rows.ravel().tolist()}
    assert len(find_span(stack_first_layer(compute_gradient(net, rows, labels)), 32)) == 16, (
        "32 words fill all 16 directions"
    )
    set_traps(net, table, 32, np.random.default_rng(2))
    gradients = compute_gradient(net, rows, labels)
    caught = read_traps(gradients, table, 32)
    assert len(caught) >= 5
    assert len(set(caught) & there) >= 0.8 * len(caught)
    other = Dictionary(
        WORDS, np.random.default_rng(3).standard_normal((400, 16)).astype(np.float32)
    )
    assert len(set(read_traps(gradients, other, 32)) & there) <= 2, (
        "who has another table names other words, if any"
    )


def test_an_attribute_is_told_where_it_stands_in_the_message_and_nowhere_else() -> None:
    generator = np.random.default_rng(0)
    truth = np.arange(200) % 2 == 0

    def messages(shift: float) -> np.ndarray:
        made = generator.standard_normal((200, 50)) + shift * truth[:, None]
        return np.array(
            [
                project_message({"a": torch.from_numpy(row)}, np.random.default_rng(1))
                for row in made
            ]
        )

    for shift, least, most in ((2.0, 0.95, 1.0), (0.0, 0.35, 0.65)):
        sure = predict_property(messages(shift), truth, messages(shift)) > 0
        assert least <= (sure == truth).mean() <= most
