"""Texts that share a line are read as texts in lines of their own, up to rounding, in their states and in every gradient."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tacit.training.private.packing import pack_texts  # noqa: E402
from tacit.training.private.word_networks import TransformerReader  # noqa: E402

LENGTHS = [[1], [4], [3, 3, 3], [7, 1, 2, 4, 3, 1, 1], [2, 9, 9, 5]]


@pytest.mark.parametrize("lengths", LENGTHS, ids=str)
def test_every_word_has_a_slot_of_its_own_beside_its_text(lengths: list[int]) -> None:
    laid = pack_texts(torch.tensor(lengths))
    lines, room = laid.shape
    assert room == max(lengths)
    assert len(set(laid.slot.tolist())) == sum(lengths) <= lines * room
    for text, length in enumerate(lengths):
        own = laid.slot[laid.text == text]
        assert own.tolist() == list(range(int(own[0]), int(own[0]) + length))
        assert int(own[0]) // room == int(own[-1]) // room
        assert laid.place[laid.text == text].tolist() == list(range(length))


def test_short_texts_share_lines() -> None:
    assert pack_texts(torch.tensor([7, 1, 2, 4, 3, 1, 1])).shape == (3, 7)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> TransformerReader:
    folder: Path = tmp_path_factory.mktemp("checkpoint")
    torch.manual_seed(3)
    small = {
        "hidden_size": 8,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 12,
        "vocab_size": 9,
    }
    transformers.BertModel(transformers.BertConfig(**small)).save_pretrained(folder)
    return TransformerReader(folder).eval()


def read(
    reader: TransformerReader, vectors: torch.Tensor, present: torch.Tensor
) -> list[torch.Tensor]:
    """Return what the reader read, and the gradients of the vectors and of all it has."""
    vectors = vectors.clone().requires_grad_()
    reader.zero_grad()
    means = reader(vectors, present)
    (means * torch.linspace(-1, 2, means.numel()).view_as(means)).sum().backward()
    return [
        means.detach(),
        vectors.grad,
        *(one.grad for one in reader.parameters() if one.grad is not None),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("lengths", [*LENGTHS, [0, 3, 2]], ids=str)
def test_what_is_read_does_not_depend_on_the_neighbours(
    reader: TransformerReader, lengths: list[int], monkeypatch
) -> None:
    vectors = torch.randn(len(lengths), max(lengths), 8, generator=torch.Generator().manual_seed(1))
    present = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    ours = read(reader, vectors, present)
    monkeypatch.setattr(
        reader.transformer.config, "model_type", "another"
    )  # read one text a line, padded
    theirs = read(reader, vectors, present)
    assert len(ours) == len(theirs) > 10
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-6)
