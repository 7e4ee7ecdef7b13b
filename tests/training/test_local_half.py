"""What moves in a client's local half: by learning rate, by what is at rest, and with gradients carried over from the pass."""

from dataclasses import replace

import numpy as np
import torch

from tacit import plan
from tacit.randomness import Draws
from tacit.training.private.steps import ModuleParts, Training, train_locally
from tacit.training.private.word_networks import BidirectionalReader, WordNetwork, WordTableShape

ROWS = torch.tensor([[2, 3, 4], [5, 2, 0], [6, 7, 3], [4, 6, 5]])
LABELS = torch.tensor([0, 1, 1, 0])
SGD = plan.Local(optimizer="sgd", lr=0.5, epochs=1, batch=2)


def after(
    local: plan.Local = SGD, word_dropout: float = 0.0, **private: object
) -> tuple[WordNetwork, WordNetwork]:
    """Return the network before and after one local half; words 2 to 4 are shared, 5 to 7 the client's own."""
    torch.manual_seed(0)
    net = WordNetwork(
        WordTableShape(shared_rows=5, width=4, dense=0, outputs=1),
        BidirectionalReader(4, 3),
        6,
        0.0,
        word_dropout,
    )
    net.words.shared.data.normal_()
    net.words.private.data = torch.randn(3, 4)
    before = WordNetwork(
        WordTableShape(shared_rows=5, width=4, dense=0, outputs=1),
        BidirectionalReader(4, 3),
        6,
        0.0,
    )
    before.words.private.data = torch.zeros(3, 4)
    before.load_state_dict(net.state_dict())
    named = dict(net.named_parameters())
    parts = ModuleParts(
        [one for name, one in named.items() if name != "words.private"], [net.words.private]
    )
    settings = plan.Private(words="digits", start="public", **private)
    training = Training(net, local, settings, lambda some: ((ROWS[some],), LABELS[some]))
    train_locally(training, parts, len(ROWS), Draws.seeded(1))
    return before, net


def moved(pair: tuple[WordNetwork, WordNetwork], name: str) -> float:
    before, net = (dict(one.named_parameters())[name].detach() for one in pair)
    return float((net - before).abs().max())


def test_what_stays_may_rest_while_the_rest_moves() -> None:
    pair = after(train=False)
    assert moved(pair, "words.private") == 0
    assert moved(pair, "last.weight") > 0
    assert moved(pair, "words.shared") > 0


def test_a_shared_table_has_a_rate_of_its_own_and_rests_at_0() -> None:
    whole, tenth, none = (after(replace(SGD, batch=4, table_lr=lr)) for lr in (None, 0.05, 0.0))
    np.testing.assert_allclose(
        moved(tenth, "words.shared"), 0.1 * moved(whole, "words.shared"), rtol=1e-3
    )
    assert moved(none, "words.shared") == 0
    assert (
        moved(tenth, "last.weight") == moved(whole, "last.weight") == moved(none, "last.weight") > 0
    )


def test_gradients_of_the_pass_are_added_to_the_first_step() -> None:
    """With the own part at rest and one batch, the pass's gradient is that of the step: the step is twice as long."""
    one_batch = replace(SGD, batch=4)
    plain, carried = (
        after(one_batch, train=False),
        after(one_batch, train=False, adapt="pass_accumulated"),
    )
    np.testing.assert_allclose(
        moved(carried, "last.weight"), 2 * moved(plain, "last.weight"), rtol=1e-4
    )
    moving = after(one_batch, adapt="pass_accumulated")
    assert moved(moving, "words.private") > 0
    assert moved(moving, "last.weight") > 1.5 * moved(plain, "last.weight")


def test_weight_decay_pulls_adam_to_zero() -> None:
    adam = replace(SGD, optimizer="adam", lr=0.01)
    assert moved(after(adam), "last.weight") != moved(
        after(replace(adam, weight_decay=10.0)), "last.weight"
    )


def test_word_vectors_can_be_left_out_in_training_alone() -> None:
    _, net = after(word_dropout=0.5)
    net.train()
    assert not torch.equal(net(ROWS), net(ROWS))
    net.eval()
    torch.testing.assert_close(net(ROWS), net(ROWS))
