"""Frozen text encoders: the numbers are those of the network, each text is read once, and a row depends on its text alone."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tacit.errors import DataError, PlanError
from tacit.features import Fitted, count_inputs, describe_inputs, encode, fit, list_blocks
from tacit.plan import Columns, Features
from tacit.rows import Dense, Sparse

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from tacit.features.frozen import build_text_reader, text  # noqa: E402
from tacit.features.frozen.text_network import load_text_network  # noqa: E402
from tests.text_networks import WORDS, write_text_network  # noqa: E402

random = np.random.default_rng(3)
TEXTS = [" ".join(random.choice(WORDS, count)) for count in (3, 30, 0, 9, 9, 17, 100, 1, 8, 30, 2)]
COLUMNS = Columns(text=("note",), label="kind")
FRAME = pl.DataFrame({"note": TEXTS, "kind": ["yes", "no"] * 5 + ["yes"]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text_network(tmp_path_factory.mktemp("network") / "mine")


@pytest.fixture
def single(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "choose_precision", lambda: torch.float32)


def read_alone(folder: Path, texts: list[str], length: int, *, cls: bool = False) -> np.ndarray:
    """What transformers computes of each text by itself, without any padding."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
    network = transformers.AutoModel.from_pretrained(str(folder)).eval()
    rows = []
    for one in texts:
        pieces = tokenizer([one], truncation=True, max_length=length, return_tensors="pt")
        with torch.no_grad():
            states = network(**pieces).last_hidden_state[0]
        rows.append((states[0] if cls else states.mean(0)).numpy())
    return np.stack(rows)


@pytest.mark.usefixtures("single")
def test_rows_are_the_mean_of_the_states_whatever_the_batch(folder: Path, tmp_path: Path) -> None:
    reader = build_text_reader("mine", folder, tmp_path, 20)
    rows = reader.read_texts(TEXTS)
    np.testing.assert_allclose(rows, read_alone(folder, TEXTS, 20), rtol=1e-4, atol=1e-5)
    assert (reader.width, rows.shape) == (16, (11, 16))
    others = build_text_reader("mine", folder, tmp_path / "other", 20)
    for place in (1, 2, 5):
        np.testing.assert_array_equal(others.read_texts([TEXTS[place]])[0], rows[place])


@pytest.mark.usefixtures("single")
def test_a_folder_of_sentence_transformers_says_its_pooling_and_its_length(tmp_path: Path) -> None:
    folder = write_text_network(tmp_path / "mine", modules=True)
    reader = build_text_reader("mine", folder, tmp_path / "cache", 300)
    expected = read_alone(folder, TEXTS, 12, cls=True)
    np.testing.assert_allclose(reader.read_texts(TEXTS), expected, rtol=1e-4, atol=1e-5)


def test_a_text_is_read_once_and_an_interruption_loses_one_chunk(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    compute = text.compute_rows

    def counted(network, texts):
        if len(read) == 2:
            raise KeyboardInterrupt
        read.append(len(texts))
        return compute(network, texts)

    monkeypatch.setattr(text, "_CHUNK", 4)
    monkeypatch.setattr(text, "compute_rows", counted)
    seen: list[tuple[int, int]] = []
    reader = build_text_reader(
        "mine", folder, tmp_path, 20, lambda done, of: seen.append((done, of))
    )
    with pytest.raises(KeyboardInterrupt):
        reader.read_texts(TEXTS)
    assert (read, seen) == ([4, 4], [(4, 11), (8, 11)])
    read.clear()
    build_text_reader("mine", folder, tmp_path, 20).read_texts([*TEXTS, TEXTS[0]])
    assert read == [3]
    read.clear()
    build_text_reader("mine", folder, tmp_path, 20).read_texts(TEXTS[::-1])
    assert read == []
    (place,) = tmp_path.iterdir()
    assert place.stat().st_mode & 0o077 == 0, "rows tell much about texts"


def test_length_weights_and_tokenizer_are_part_of_the_hash(folder: Path, tmp_path: Path) -> None:
    digest = build_text_reader("mine", folder, tmp_path, 20).digest
    assert build_text_reader("copy", folder, tmp_path, 20).digest == digest
    assert build_text_reader("mine", folder, tmp_path, 21).digest != digest
    assert build_text_reader("mine", folder, tmp_path, 40).digest == (
        build_text_reader("mine", folder, tmp_path, 99).digest
    ), "the network reads 40 word pieces at most"
    other = write_text_network(tmp_path / "other", seed=1)
    assert build_text_reader("mine", other, tmp_path, 20).digest != digest
    words = write_text_network(tmp_path / "words")
    (words / "vocab.txt").write_text((words / "vocab.txt").read_text().replace("good", "fine"))
    assert build_text_reader("mine", words, tmp_path, 20).digest != digest


def test_encoded_rows_have_norm_one_and_follow_the_words(folder: Path, tmp_path: Path) -> None:
    reader = build_text_reader("mine", folder, tmp_path, 20)
    alone = Features(text="encoder", encoder="mine", constant=0.5)
    fitted = fit(FRAME, COLUMNS, alone, reader=reader)
    assert Fitted.from_dict(fitted.to_dict()) == fitted
    rows = encode(FRAME, COLUMNS, alone, fitted, reader=reader).inputs
    assert isinstance(rows, Dense)
    assert rows.width == count_inputs(COLUMNS, alone, fitted) == 17
    np.testing.assert_allclose(np.linalg.norm(rows.matrix[:, :16], axis=1), 1, rtol=1e-5)
    assert fitted.released == ()

    both = Features(text="encoder+binary", encoder="mine", buckets=50, encoder_norm=0.5)
    fitted = fit(FRAME, COLUMNS, both, reader=reader)
    joined = encode(FRAME, COLUMNS, both, fitted, reader=reader).inputs
    assert isinstance(joined, Sparse)
    assert joined.width == count_inputs(COLUMNS, both, fitted) == 66
    for place in range(len(TEXTS)):
        at = slice(joined.starts[place], joined.starts[place + 1])
        columns, values = joined.columns[at], joined.values[at]
        np.testing.assert_array_equal(columns[-16:], np.arange(50, 66))
        np.testing.assert_allclose(values[-16:], rows.matrix[place, :16] / 2, rtol=1e-6)
        assert (np.diff(columns) > 0).all()
        expected = float(bool(TEXTS[place]))
        assert np.linalg.norm(values[:-16]) == pytest.approx(expected, abs=1e-6)
    assert [(one.kind, one.start, one.stop) for one in list_blocks(COLUMNS, both, fitted)] == [
        ("words", 0, 50),
        ("encoder", 50, 66),
    ]
    assert describe_inputs(COLUMNS, both) == (
        "the output of the frozen encoder mine for the first 300 word pieces in note; which words"
        " occur in note, hashed to 50 buckets"
    )


def test_table_columns_follow_the_encoder(folder: Path, tmp_path: Path) -> None:
    columns = Columns(text=("note",), numeric=("age",), label="kind")
    frame = FRAME.with_columns(age=pl.Series(range(11)))
    reader = build_text_reader("mine", folder, tmp_path, 20)
    for form, width in (("encoder", 17), ("encoder+binary", 67)):
        settings = Features(text=form, buckets=50)
        fitted = fit(frame, columns, settings, reader=reader)
        rows = encode(frame, columns, settings, fitted, reader=reader).inputs
        assert rows.width == count_inputs(columns, settings, fitted) == width
    assert isinstance(rows, Sparse)


def test_another_encoder_than_in_training_is_refused(folder: Path, tmp_path: Path) -> None:
    settings = Features(text="encoder")
    fitted = fit(
        FRAME, COLUMNS, settings, reader=build_text_reader("mine", folder, tmp_path / "a", 20)
    )
    other = build_text_reader(
        "other", write_text_network(tmp_path / "other", seed=1), tmp_path / "b", 20
    )
    with pytest.raises(DataError, match="'other': its files have the hash"):
        encode(FRAME, COLUMNS, settings, fitted, reader=other)
    with pytest.raises(PlanError, match="needs the reader of the encoder"):
        encode(FRAME, COLUMNS, settings, fitted)
    with pytest.raises(PlanError, match="needs no reader"):
        encode(FRAME, COLUMNS, Features(), fit(FRAME, COLUMNS, Features()), reader=other)


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("modules.json", [{"type": "mine.Own", "path": ""}], "names a part 'Own'"),
        ("modules.json", [{"type": "a.Transformer", "path": "../x"}], "a folder outside"),
        ("modules.json", {"a": 1}, "does not hold what it should"),
        ("1_Pooling/config.json", {"pooling_mode_max_tokens": True}, "mean or the class token"),
    ],
)
def test_a_folder_that_cannot_be_read_is_refused(
    tmp_path: Path, file: str, content: object, why: str
) -> None:
    folder = write_text_network(tmp_path / "mine", modules=True)
    (folder / file).write_text(json.dumps(content))
    with pytest.raises(DataError, match=why):
        load_text_network(folder, 20, torch.float32)


def test_pickled_weights_are_not_opened(tmp_path: Path) -> None:
    folder = write_text_network(tmp_path / "mine")
    torch.save({}, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(DataError, match="transformers cannot load a text network"):
        load_text_network(folder, 20, torch.float32)
