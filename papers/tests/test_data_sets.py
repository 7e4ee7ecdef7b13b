"""Data sets of the papers: their readers, their known counts, and how a plan, a run and `tacit data` find them."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tacit import plan, simulation
from tacit.audit.tokens.audit import audit_tokens
from tacit.data import fetch_data_set, list_data_sets, load, resolve_columns
from tacit.data.clients.divide import divide
from tacit.data.download import store
from tacit.data.named.catalogue import BUILT_IN, get_entry
from tacit.errors import DataError, PlanError, RunError
from tacit.plan import Data, find_own_parts
from tacit.randomness import Draws
from tacit.runs.run_folder import read_plan
from tacit_papers.data_sets import cifar10, hashcomb, iot23, movielens
from tacit_papers.published import TrialRun
from tacit_papers.runs import carry_out
from tests.data.conftest import draws, need, own_cache  # noqa: F401 (fixtures)
from tests.data.test_named_readers import tarred, written, zipped

SIZES = {
    "hashcomb_cardio": (26_250, 0),
    "hashcomb_hps": (23_519, 0),
    "hashcomb_okiru": (23_663, 0),
    "hashcomb_spam": (6_879, 0),
    "iot23": (89_448, 0),
}
NAMES = (*SIZES, "cifar10", "movielens1m")


def test_every_name_is_tested_here_and_well_formed() -> None:
    found = {entry.name: entry for entry in list_data_sets() if entry not in BUILT_IN}
    assert set(found) >= set(NAMES)
    for name in NAMES:
        item = get_entry(name)
        assert item.name == name
        assert item.columns.label
        assert item.terms
        assert item.by_hand or any(way.obtainable for way in item.ways)
        for file in (file for way in item.ways for file in way.files):
            kind, _, digits = file.checksum.partition(":")
            assert len(digits) == {"md5": 32, "sha256": 64}[kind]


def test_naming_one_imports_nothing() -> None:
    code = (
        "import sys; from tacit import plan\n"
        "job = plan.parse({'data': {'source': 'movielens1m'}})\n"
        "print(job.data.source, 'tacit_papers' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tacit_papers.data_sets.movielens:ENTRY", "False"]


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name: str, draws: Draws) -> None:  # noqa: F811
    need(name)
    table = load(Data(source=name, test=0.0), draws)
    assert (table.train.height, table.test.height) == SIZES[name]
    assert not any(table.train.null_count().row(0))
    assert table.public


def test_movielens(draws: Draws) -> None:  # noqa: F811
    need("movielens1m")
    table = load(Data(source="movielens1m", test=0.0), draws)
    assert dict(table.train["label"].value_counts().rows()) == {"0": 424_928, "1": 575_281}
    clients = divide(table, Data(source="movielens1m", partition="client"), draws)
    assert len(clients) == 6_040
    assert (clients.sizes().min(), clients.sizes().max()) == (20, 2_314)
    assert (
        table.train["keywords"].str.contains("boy next door new toy", literal=True).sum() == 2_077
    ), "Toy Story's ratings"
    assert table.train.estimated_size() < 300e6


def test_cifar_sheets_hold_the_first_pictures() -> None:
    pytest.importorskip("PIL.Image")
    need("cifar10")
    table, _ = store.read_data_set("cifar10")
    assert table["split"].value_counts(sort=True).rows() == [("train", 20_000), ("test", 5_000)]
    assert table["label"].head(10).to_list() == [6, 9, 9, 4, 1, 1, 2, 7, 8, 3]


def test_a_set_without_a_free_origin_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TACIT_DATA", raising=False)
    with pytest.raises(DataError, match="By hand: "):
        fetch_data_set("hashcomb_spam")


def test_movielens_archive(tmp_path: Path) -> None:
    members = {
        "ml-1m/ratings.dat": b"1::1193::5::978300760\n2::1::3::978298413\n",
        "ml-1m/users.dat": b"1::F::1::10::48067\n2::M::56::16::70072\n",
        "ml-1m/movies.dat": (
            "1::Toy: Story (1995)::Animation|Children's|Comedy\n1193::L'Été (1975)::Drama\n".encode(
                "latin-1"
            )
        ),
    }
    table = movielens.read_archive(zipped(tmp_path / "ml-1m.zip", members))
    assert table.select(
        "user_id", "gender", "age", "occupation", "year", "keywords", "label"
    ).rows() == [
        (1, "F", 1, 10, 1975, "l'été", 1),
        (2, "M", 56, 16, 1995, "toy: story", 0),
    ]
    assert table.select("genre_drama", "genre_children", "genre_film_noir").rows() == [
        (1, 0, 0),
        (0, 1, 0),
    ]
    assert set(movielens.ENTRY.columns.numeric) <= set(table.columns)


def test_iot23_parts(tmp_path: Path) -> None:
    head = (
        b"id.resp_p,proto,service,duration,orig_bytes,resp_bytes,conn_state,local_orig,local_resp,missed_bytes,orig_pkts,"
        b"orig_ip_bytes,resp_pkts,resp_ip_bytes,label,detailed-label\r\n"
    )
    files = {
        "supersampled_detailed_label_8.csv": (
            head + b"37215,0,0.0,-1.0,-1,-1,1.0,-1,-1,0,1,40,0,0,1,8\r\n"
        ),
        "supersampled_detailed_label_0.csv": head + b"53,1,4.0,0.5,1,2,,-1,-1,0,1,40,0,0,0,0\r\n",
    }
    table = iot23.read_parts(written(tmp_path, files))
    assert table["detailed-label"].to_list() == ["Benign", "Okiru"]
    assert table["proto"].to_list() == ["udp", "tcp"]
    assert table["conn_state"].to_list() == [None, "S0"]


def test_cifar_binary_and_package_agree(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (6, 32, 32, 3), np.uint8)
    members, sheets = {}, {}
    for number in range(6):
        record = bytes([number]) + pixels[number].transpose(2, 0, 1).tobytes()
        name = f"data_batch_{number + 1}" if number < 5 else "test_batch"
        members[f"cifar-10-batches-bin/{name}.bin"] = record
        buffer = io.BytesIO()
        image.fromarray(pixels[number].reshape(1, 1024, 3)).save(buffer, "PNG")
        sheets[f"{name}.png"] = buffer.getvalue()
    sheets |= {
        "train_lables.json": json.dumps([0, 1, 2, 3, 4]).encode(),
        "test_lables.json": b"[5]",
    }
    members["cifar-10-batches-bin/readme.html"] = b"x"
    one = cifar10.read_cifar_archive(tarred(tmp_path / "cifar-10-binary.tar.gz", members))
    two = cifar10.read_cifar_package(written(tmp_path, sheets))
    assert one.equals(two)
    assert (one["image"][3].to_numpy() == pixels[3].ravel()).all()


TREE = {
    "name": "trial",
    "data": {"source": "hashcomb_spam", "clients": 4, "limit": 200},
    "codec": {"name": "plain"},
    "server": {"rounds": 3},
}


class Stop(simulation.Silence):
    """Stops a run after its first round, as a kill would."""

    def entry(self, entry: object) -> None:
        if type(entry).__name__ == "Round":
            raise KeyboardInterrupt


@pytest.fixture
def _folds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file of hashcomb_spam, with made-up rows and their checksum."""
    random = np.random.default_rng(1)
    labels = random.integers(0, 2, 400)
    rows = {f"x{number}": random.random(400) * (labels + 1) / 2 for number in range(57)}
    path = tmp_path / "files" / "hashcomb_spam.parquet"
    path.parent.mkdir()
    pl.DataFrame({**rows, "label": labels, "fold": np.arange(400) % 10}).write_parquet(path)
    checksum = f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}"
    (way,) = hashcomb.SPAM.ways
    made = replace(way, files=(replace(way.files[0], checksum=checksum),))
    monkeypatch.setattr(hashcomb, "SPAM", replace(hashcomb.SPAM, ways=(made,)))
    monkeypatch.setenv("TACIT_DATA", str(path.parent))


@pytest.mark.usefixtures("_folds")
def test_a_run_names_its_code_and_resumes_where_that_is_allowed(tmp_path: Path) -> None:
    job = plan.parse(TREE)
    with pytest.raises(KeyboardInterrupt):
        simulation.start(job, tmp_path, Stop())
    place = tmp_path / "trial-1"
    (pinned,) = find_own_parts(read_plan(place)).values()
    assert pinned.path == "tacit_papers.data_sets.hashcomb:SPAM"
    assert pinned.sha256
    with pytest.raises(RunError, match=r"data\.source names Python code"):
        simulation.resume(place)
    simulation.resume(place, allow_code=True)


@pytest.mark.usefixtures("_folds")
def test_a_paper_resumes_its_own_run(tmp_path: Path) -> None:
    run = TrialRun(kind="plan", settings=TREE)
    with pytest.raises(KeyboardInterrupt):
        carry_out(run, tmp_path, {}, Stop())
    begun = tmp_path / run.key / "trial-1"
    before = (begun / "record.jsonl").read_bytes()
    seen: list[bytes] = []

    class Watch(simulation.Silence):
        def opened(self, place: Path) -> None:
            seen.append((place / "record.jsonl").read_bytes())

    figures = carry_out(run, tmp_path, {}, Watch())
    assert seen == [before]
    assert "accuracy" in figures["last"]


@pytest.mark.usefixtures("_folds")
def test_a_paper_starts_anew_where_the_code_of_its_run_has_changed(tmp_path: Path) -> None:
    run = TrialRun(kind="plan", settings=TREE)
    with pytest.raises(KeyboardInterrupt):
        carry_out(run, tmp_path, {}, Stop())
    stored = tmp_path / run.key / "trial-1" / "plan.toml"
    (pinned,) = find_own_parts(read_plan(stored.parent)).values()
    stored.write_text(stored.read_text().replace(pinned.sha256, "0" * 64))
    assert "accuracy" in carry_out(run, tmp_path, {}, None)["last"]


def test_its_columns_are_known_only_where_its_code_may_run() -> None:
    data = Data(source="hashcomb_spam")
    assert resolve_columns(data, import_code=False).label is None
    assert resolve_columns(data, import_code=True).label == "label"


def test_the_private_preset_asks_for_columns() -> None:
    tree = {"privacy": {"preset": "private"}, "data": {"source": "hashcomb_spam", "clients": 5000}}
    with pytest.raises(PlanError, match=r"data\.columns is required with privacy\.preset"):
        plan.parse(tree)
    columns = {"numeric": [f"x{number}" for number in range(57)], "label": "label"}
    plan.parse({**tree, "data": {**tree["data"], "columns": columns}})


@pytest.mark.usefixtures("_folds")
def test_tokens_of_a_run_on_it_are_audited_where_its_code_is_allowed(tmp_path: Path) -> None:
    codec = {"name": "hashcomb", "of": "weights", "x_min": -0.35, "x_max": 0.35}
    place = simulation.start(plan.parse({**TREE, "codec": codec}), tmp_path)
    with pytest.raises(RunError, match=r"data\.source names Python code"):
        audit_tokens(place)
    assert audit_tokens(place, allow_code=True).searches
