"""The LSTM that clients train with is PyTorch's own, up to rounding, in its states and in every gradient."""

import pytest

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from tacit.training.private.recurrent import build_packed_steps, compute_last_states  # noqa: E402
from tacit.training.private.word_networks import BidirectionalReader  # noqa: E402

LENGTHS = [[1], [3], [1, 1, 1], [4, 2, 7, 1, 2], [5, 5], [9, 1], list(range(1, 20))]


def found(lstm: nn.LSTM, rows: torch.Tensor, lengths: list[int], ours: bool) -> list[torch.Tensor]:
    """Return the last states and the gradients of all that moves."""
    vectors = rows.clone().requires_grad_()
    packed = nn.utils.rnn.pack_padded_sequence(
        vectors, torch.tensor(lengths), batch_first=True, enforce_sorted=False
    )
    states = (
        compute_last_states(lstm, packed) if ours else torch.cat(list(lstm(packed)[1][0]), dim=1)
    )
    lstm.zero_grad()
    (states * torch.linspace(-1, 2, states.numel()).view_as(states)).sum().backward()
    return [
        states.detach(),
        vectors.grad,
        *(one.grad for one in lstm.parameters() if one.requires_grad),
    ]


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
@pytest.mark.parametrize("weights_move", [True, False])
def test_states_and_gradients_are_pytorchs(lengths: list[int], weights_move: bool) -> None:
    torch.manual_seed(5)
    lstm = nn.LSTM(6, 9, batch_first=True, bidirectional=True).requires_grad_(weights_move)
    rows = torch.randn(len(lengths), max(lengths), 6)
    ours, theirs = (found(lstm, rows, lengths, ours) for ours in (True, False))
    assert len(ours) == len(theirs) == (10 if weights_move else 2)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)


def test_a_gradient_may_be_asked_for_twice() -> None:
    torch.manual_seed(5)
    lstm, vectors = (
        nn.LSTM(3, 4, batch_first=True, bidirectional=True),
        torch.randn(2, 5, 3, requires_grad=True),
    )
    packed = nn.utils.rnn.pack_padded_sequence(vectors, torch.tensor([5, 3]), batch_first=True)
    states = compute_last_states(lstm, packed).sum()
    once, twice = (torch.autograd.grad(states, [vectors], retain_graph=True)[0] for _ in "12")
    torch.testing.assert_close(once, twice, rtol=0, atol=0)


def test_a_reader_reads_the_same_at_rest_and_in_training() -> None:
    torch.manual_seed(5)
    reader, vectors = BidirectionalReader(3, 4), torch.randn(4, 6, 3)
    present = torch.arange(6) < torch.tensor(
        [[6], [0], [2], [1]]
    )  # a row without words counts as one of length one
    torch.testing.assert_close(reader.train()(vectors, present), reader.eval()(vectors, present))
    with torch.no_grad():
        torch.testing.assert_close(
            reader.train()(vectors, present), reader.eval()(vectors, present)
        )


def test_each_step_knows_the_lines_before_it() -> None:
    forwards, backwards = (build_packed_steps([3, 2, 2, 1], turned) for turned in (False, True))
    assert [(step.lines.start, step.before.start, step.shared) for step in forwards] == [
        (0, 0, 0),
        (3, 0, 2),
        (5, 3, 2),
        (7, 5, 1),
    ]
    assert [(step.lines.start, step.before.start, step.shared) for step in backwards] == [
        (7, 0, 0),
        (5, 7, 1),
        (3, 5, 2),
        (0, 3, 2),
    ]
