"""Every export says what the run's own model says, on a thousand rows, for each kind of network over each kind of features."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tacit
from tacit import plan, simulation
from tacit.assembly.feature_sources import FeatureSources
from tacit.errors import PlanError, RunError
from tacit.models import export
from tacit.models.export.card import render_card
from tacit.models.exporting import export_model, make_up_rows
from tests.simulation.small import FILLER, WORDS, small_plan
from tests.simulation.test_predict import people

TEXT = {"text": ["note"], "label": "class"}
TABLE = {"numeric": ["pay", "age"], "categorical": ["town"], "label": "class"}
MIXED = {**TEXT, **TABLE}
LOGISTIC: dict[str, Any] = {"name": "logistic"}
MLP: dict[str, Any] = {"name": "mlp", "hidden": [6, 4]}
POOLED: dict[str, Any] = {"name": "embedding", "embedding": 5, "hidden": [4]}

CASES: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "mlp, hashed": (TEXT, {"buckets": 200}, MLP),
    "logistic without bias, hashed, one length, a constant": (
        TEXT,
        {"buckets": 200, "row_norm": 1.0, "constant": 0.1},
        {**LOGISTIC, "bias": False},
    ),
    "logistic, listed": (
        TEXT,
        {"text": "listed", "buckets": 300, "words": "unicode", "list": "LIST"},
        LOGISTIC,
    ),
    "mlp, listed by rarity, no stop words": (
        TEXT,
        {
            "text": "listed",
            "buckets": 300,
            "rarity": 0.3,
            "row_norm": 2.0,
            "stop_words": True,
            "list": "LIST",
        },
        MLP,
    ),
    "logistic, hashed, counted, by rarity, words of any script, n-grams": (
        TEXT,
        {
            "buckets": 300,
            "words": "unicode",
            "counts": "sublinear",
            "ngrams": 3,
            "characters": [3, 5],
            "rarity": 0.3,
            "list": "LIST",
            "row_norm": 1.0,
        },
        LOGISTIC,
    ),
    "mlp, hashed letters, counted, by rarity": (
        TEXT,
        {"buckets": 200, "counts": "counts", "rarity": 0.5, "list": "LIST"},
        MLP,
    ),
    "logistic, mixed, listed, counted": (
        MIXED,
        {"text": "listed", "buckets": 300, "counts": "counts", "list": "LIST"},
        LOGISTIC,
    ),
    "logistic, mixed, pairs": (MIXED, {"buckets": 200, "words": "unicode", "ngrams": 2}, LOGISTIC),
    "logistic, table": (TABLE, {}, LOGISTIC),
    "mlp, raw table as codes, one length": (
        TABLE,
        {"numeric": "raw", "categorical": "codes", "row_norm": 1.0},
        MLP,
    ),
    "logistic, mixed, as init writes it": (
        MIXED,
        {"buckets": 200, "words": "unicode", "numeric": "robust"},
        LOGISTIC,
    ),
    "embedding, words of any script": (
        TEXT,
        {"text": "sequence", "buckets": 200, "words": "unicode"},
        POOLED,
    ),
    "mlp, mixed, one length, a constant": (
        MIXED,
        {"buckets": 200, "row_norm": 1.0, "constant": 0.1},
        MLP,
    ),
    "embedding, words in order": (TEXT, {"text": "sequence", "buckets": 200, "length": 12}, POOLED),
    "embedding, mixed": (MIXED, {"text": "sequence", "buckets": 200, "length": 12}, POOLED),
}
NEEDS = {"onnx": "onnxruntime", "torch": "torch", "hub": "torch"}


def trained(
    place: Path, columns: dict[str, Any], features: dict[str, Any], model: dict[str, Any], two: bool
) -> tacit.Run:
    rows = people().with_columns(pl.int_range(pl.len()).mod(61).alias("age"))
    if two:
        rows = rows.filter(pl.col("class") != "c2")
    rows.write_csv(place / "rows.csv")
    (place / "list.txt").write_text(
        "\n".join([*FILLER, *WORDS[0], *WORDS[1], "odd", "new", "the", "film"])
    )
    features = {
        key: str(place / "list.txt") if value == "LIST" else value
        for key, value in features.items()
    }
    job = small_plan(
        place / "rows.csv",
        data={"source": str(place / "rows.csv"), "clients": 6, "columns": columns},
        codec={"name": "rr", "epsilon": 8, "clip": 0.05},
        features=features,
        model=model,
        local={"lr": 0.05, "epochs": 1, "batch": 16},
        server={"rounds": 1},
    )
    return tacit.Run(simulation.start(job, place))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_format_says_what_the_run_says(case: str, tmp_path: Path) -> None:
    columns, features, model = CASES[case]
    if "text" in columns and "numeric" in columns and model["name"] == "embedding":
        pytest.importorskip("torch")
    run = trained(tmp_path, columns, features, model, two="listed" in case or "table" in case)
    for to in ("safetensors", "sklearn", "onnx", "torch"):
        if to in NEEDS:
            pytest.importorskip(NEEDS[to])
        done = run.export(to, tmp_path / to)
        print(f"{case}, {to}: {done.difference:.1e} on {done.rows:,} rows")
        assert done.rows == 1000
        assert done.difference <= 1e-5
        card = (tmp_path / to / "README.md").read_text()
        assert "## Privacy" in card
        assert run.privacy in card
    stored = tacit.load(tmp_path / "safetensors")
    rows = make_up_rows(stored, 50)
    np.testing.assert_array_equal(stored.predict(rows), run.predict(rows))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tacit.Run:
    return trained(tmp_path_factory.mktemp("run"), MIXED, {"buckets": 50}, LOGISTIC, two=False)


def test_a_folder_for_a_hub_has_a_head_and_the_torch_form(run: tacit.Run, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    done = run.export("hub", tmp_path / "hub")
    assert done.difference <= 1e-5
    files = {path.name for path in done.folder.iterdir()}
    assert files == {
        "README.md",
        "config.json",
        "model.safetensors",
        "module.py",
        "rows.py",
        "spelling.py",
    }
    card = (done.folder / "README.md").read_text()
    assert card.startswith("---\nlibrary_name: tacit\n")
    assert run.privacy in card
    assert "Not protected:" in card
    assert json.loads((done.folder / "config.json").read_text())["classes"] == ["c0", "c1", "c2"]


BLOCKED = """
import json, sys

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "tacit":
            raise ModuleNotFoundError("Tacit is not here")

sys.meta_path.insert(0, Blocker())
sys.path.insert(0, ".")
rows = json.load(open("rows.json"))
"""
LOADED = {
    "sklearn": "from pipeline import pipeline\nfound = pipeline.predict_proba(rows)",
    "torch": "from module import load\nfound = load().predict_proba(rows)",
    "hub": "from module import load\nfound = load().predict_proba(rows)",
    "onnx": (
        "import onnxruntime\nfrom rows import encode\nsession ="
        " onnxruntime.InferenceSession('model.onnx')\ngiven = encode(rows)\nfound ="
        " session.run(['probabilities'], {one.name: given[one.name] for one in"
        " session.get_inputs()})[0]"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("to", LOADED)
def test_an_export_is_loaded_where_tacit_cannot_be_imported(
    run: tacit.Run, tmp_path: Path, to: str
) -> None:
    if to in NEEDS:
        pytest.importorskip(NEEDS[to])
    folder, rows = run.export(to, tmp_path / to).folder, make_up_rows(tacit.load(run), 20)
    (folder / "rows.json").write_text(rows.write_json())
    code = (
        f"{BLOCKED}{LOADED[to]}\nprint(json.dumps([[float(one) for one in line] for line in"
        " found]))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=folder, capture_output=True, text=True, check=True
    )
    np.testing.assert_allclose(json.loads(done.stdout), run.predict_proba(rows), atol=1e-5)


def test_a_pipeline_takes_frames_and_is_cloned_as_estimators_are(
    run: tacit.Run, tmp_path: Path
) -> None:
    import runpy

    from sklearn.base import clone

    pipeline = runpy.run_path(
        str(run.export("sklearn", tmp_path / "sklearn").folder / "pipeline.py")
    )["load"](tmp_path / "sklearn")
    rows = make_up_rows(tacit.load(run), 20)
    np.testing.assert_array_equal(pipeline.predict(rows), pipeline.predict(rows.to_dicts()))
    assert clone(pipeline.named_steps["features"]).transform(rows).shape == (
        20,
        pipeline.named_steps["model"].n_features_in_,
    )


def test_exports_are_tried_on_rows_of_ones_own_too(run: tacit.Run, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    done = run.export("onnx", tmp_path / "onnx", rows=people(4).with_columns(age=7))
    assert done.rows == 300
    assert done.difference <= 1e-5


def test_what_differs_from_the_run_is_not_handed_over(
    run: tacit.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = export.build_net

    def wrong(*given: Any) -> export.Net:
        net = real(*given)
        return replace(net, bias=net.bias + np.array([0, 0, 0.01], np.float32))

    monkeypatch.setattr(export, "build_net", wrong)
    with pytest.raises(
        RunError, match=r"probabilities differ from the run's by 0\.00\d+ on 1,000 rows"
    ):
        run.export("sklearn", tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


def test_what_cannot_be_exported_is_refused_with_the_reason(run: tacit.Run, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="unknown format; choose one of safetensors, onnx"):
        run.export("pickle", tmp_path / "x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    with pytest.raises(RunError, match="is not an empty folder; choose another one"):
        run.export("safetensors", tmp_path / "full")
    assert (tmp_path / "full" / "mine").exists()
    secret = replace(tacit.load(run), sources=FeatureSources(secret=b"x" * 32))
    with pytest.raises(RunError, match="which an export would disclose"):
        export_model(
            secret, "onnx", tmp_path / "x", export.ModelCard(name="x", classes=(), columns=())
        )
    for other in (
        replace(tacit.load(run), network=plan.LSTM()),
        replace(tacit.load(run), sources=FeatureSources(reader=lambda rows: rows)),
    ):
        with pytest.raises(
            RunError, match=r"export to 'onnx' cannot represent .* use --to safetensors"
        ):
            export_model(
                other, "onnx", tmp_path / "x", export.ModelCard(name="x", classes=(), columns=())
            )
    assert not (tmp_path / "x").exists()


def test_pictures_are_exported_as_pixels(tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("torch")
    random = np.random.default_rng(0)
    rows = pl.DataFrame(
        {
            "picture": random.integers(0, 256, (60, 4, 4)).astype(np.uint8).reshape(60, 16),
            "shape": ["a", "b"] * 30,
        }
    )
    job = small_plan(
        tmp_path / "none.csv",
        data={"source": "given", "clients": 3, "columns": {"image": "picture", "label": "shape"}},
        features={},
        codec={"name": "plain"},
        server={"rounds": 1},
    )
    run = tacit.Run(simulation.start(job, tmp_path, input_rows=rows))
    for to in ("safetensors", "sklearn", "onnx", "torch"):
        assert run.export(to, tmp_path / to).difference <= 1e-5


def test_a_card_holds_no_markup_from_the_data() -> None:
    card = export.ModelCard(name="a\n# b", classes=("<img>", "`x`"), columns=("c\nd",))
    written = render_card(card, "use it")
    assert "<img>" not in written
    assert "\n# b" not in written
    assert "The record of the run was not available" in written


def test_a_card_holds_no_link_or_image_from_a_server() -> None:
    """A site renders the card of a model whose words the server chose: an image would tell who reads it, and when."""
    bad = "![x](http://evil.example/x.png) <b> [a](b) www.evil.example a@evil.example `c`\n# d"
    card = export.ModelCard(
        name=bad, classes=(bad,), columns=(bad,), trained_on=bad, figures={bad: 0.5}, statement=bad,
        rests_on=bad, unprotected=(bad,),
    )  # fmt: skip
    lines = render_card(card, "use it").splitlines()
    assert not [line for line in lines if line.startswith("# d")]
    for line in lines:
        prose = re.sub(r"`[^`]*`", "", line) if line.startswith("- It reads") else line
        assert not re.search(r"(?<!\\)[\[\]`]|https?://|www\.|a@|<", prose), line
