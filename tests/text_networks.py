"""Tiny text networks with random weights, as folders."""

from __future__ import annotations

import json
from pathlib import Path

WORDS = ("good", "bad", "film", "match", "goal", "actor", "the", "a", "of", "and")


def write_text_network(folder: Path, *, seed: int = 0, modules: bool = False) -> Path:
    """Write a tokenizer and a BERT network of width 16; with `modules` as sentence-transformers does."""
    import torch
    from transformers import BertConfig, BertModel

    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, "x", "##y"]
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"tokenizer_class": "BertTokenizer", "do_lower_case": True})
    )
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
        initializer_range=0.5,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    if modules:
        kinds = ("Transformer", "Pooling", "Normalize")
        places = ("", "1_Pooling", "2_Normalize")
        listed = [
            {"idx": at, "path": place, "type": f"sentence_transformers.models.{kind}"}
            for at, (kind, place) in enumerate(zip(kinds, places, strict=True))
        ]
        (folder / "modules.json").write_text(json.dumps(listed))
        (folder / "1_Pooling").mkdir(exist_ok=True)
        pooling = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
        (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 12}')
    return folder
