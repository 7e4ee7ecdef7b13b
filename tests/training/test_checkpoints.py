"""A checkpoint is data: loading one never runs its code, opens no pickle and asks nobody anything."""

import json
from pathlib import Path

import pytest

from tacit import features
from tacit.errors import PlanError

pytest.importorskip("torch")
pytest.importorskip("transformers")

CODE = "raise SystemExit('the code of a checkpoint was run')\n"


@pytest.fixture
def foreign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkpoint with a network and a tokenizer of its own; whoever asks the terminal about it fails."""
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("the terminal was asked"))
    mine = {
        "AutoConfig": "mine.Config",
        "AutoModel": "mine.Mine",
        "AutoTokenizer": ["mine.Words", None],
    }
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mine", "auto_map": mine}))
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "Words", "auto_map": mine})
    )
    (tmp_path / "mine.py").write_text(CODE)
    (tmp_path / "model.safetensors").write_bytes(b"")
    return tmp_path


def test_code_of_a_checkpoint_is_never_run(foreign: Path) -> None:
    from tacit.training.private.word_networks import TransformerReader

    with pytest.raises(PlanError, match=r"model\.checkpoint: transformers cannot load"):
        TransformerReader(foreign)
    with pytest.raises(PlanError, match=r"model\.checkpoint: .* is not a folder with a tokenizer"):
        features.build_piece_splitter(foreign)


def test_pickled_weights_are_not_opened(tmp_path: Path) -> None:
    import torch
    from transformers import BertConfig, BertModel

    from tacit.training.private.word_networks import TransformerReader

    small = BertConfig(
        hidden_size=4, num_hidden_layers=1, num_attention_heads=1, intermediate_size=4, vocab_size=9
    )
    model = BertModel(small)
    model.save_pretrained(tmp_path)
    assert TransformerReader(tmp_path).transformer.config.hidden_size == 4
    (tmp_path / "model.safetensors").unlink()
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(PlanError, match=r"model\.checkpoint: transformers cannot load"):
        TransformerReader(tmp_path)
