from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest

from tacit.data import fetch_data_set, find_data_set
from tacit.data.download import store
from tacit.data.download.cached_tables import get_checksum_path
from tacit.data.named import catalogue
from tacit.data.named.entry import File, NamedDataSet, Way, get_only_file
from tacit.errors import DataError
from tacit.plan import Columns
from tests.data.server import Manners, serving

CONTENT = b"x,label\n1,a\n2,b\n"
SUM = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


def read_csv(files: Mapping[str, Path]) -> pl.DataFrame:
    return pl.read_csv(get_only_file(files))


def entry(url: str | None = None, by_hand: str = "") -> NamedDataSet:
    ways = (
        Way(
            name="prepared",
            files=(File(name="tiny.csv", checksum=SUM, size=16),),
            read=read_csv,
            keep=True,
        ),
        Way(
            name="origin",
            files=(File(name="origin.csv", checksum=SUM, size=16, url=url),),
            read=read_csv,
            note="as published",
        ),
    )
    return NamedDataSet(
        name="tiny",
        title="Tiny",
        rows=2,
        terms="free",
        columns=Columns(numeric=("x",), label="label"),
        ways=ways,
        by_hand=by_hand,
    )


def install(monkeypatch: pytest.MonkeyPatch, one: NamedDataSet) -> None:
    monkeypatch.setattr(catalogue, "BUILT_IN", (one,))


def test_fetched_once_then_read_from_the_stored_table(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TACIT_DATA", raising=False)
    with serving(Manners(CONTENT)) as web:
        install(monkeypatch, entry(web.url))
        assert find_data_set("tiny") is None
        place = fetch_data_set("tiny")
        first, sentence = store.read_data_set("tiny")
    assert len(web.asked) == 1
    assert sentence == "Tiny, from origin.csv of its public origin (as published)"
    assert sorted(path for path in own_cache.rglob("*") if path.is_file()) == [
        place,
        get_checksum_path(place),
    ]
    assert first.equals(read_csv({"a": _written(own_cache / "again.csv")}))


def _written(path: Path, content: bytes = CONTENT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_damaged_stored_table_is_made_again(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TACIT_DATA", raising=False)
    with serving(Manners(CONTENT)) as web:
        install(monkeypatch, entry(web.url))
        fetch_data_set("tiny").write_bytes(b"damaged")
        assert store.read_data_set("tiny")[0].height == 2
    assert len(web.asked) == 2


def test_a_stored_table_with_other_cells_is_made_again_or_said(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TACIT_DATA", raising=False)
    with serving(Manners(CONTENT)) as web:
        install(monkeypatch, entry(web.url))
        place = fetch_data_set("tiny")
        other = pl.read_ipc(place.read_bytes()).with_columns(x=pl.col("x") + 1)
        other.write_ipc(place)
        assert find_data_set("tiny") is None
        assert store.read_data_set("tiny")[0]["x"].to_list() == [1, 2]
    assert len(web.asked) == 2
    for spoilt in ("", "md5:0", "sha256:0"):
        get_checksum_path(place).write_text(spoilt)
        with pytest.raises(
            DataError, match=r"Refused: .*origin-1\.arrow was changed after it was written"
        ):
            store.read_data_set("tiny")


def test_what_a_killed_process_left_is_swept(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TACIT_DATA", raising=False)
    monkeypatch.setattr(store, "_SECONDS_TO_STALE", -1.0)
    old = _written(own_cache / "tiny" / ".package-abc" / "x.whl")
    table = _written(own_cache / "tiny" / "origin-1.arrow.99.part")
    with serving(Manners(CONTENT)) as web:
        install(monkeypatch, entry(web.url))
        fetch_data_set("tiny")
    assert not old.parent.exists()
    assert not table.exists()


def test_prepared_file_below_a_tacit_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, entry())
    path = _written(tmp_path / "second" / "deep" / "er" / "tiny.csv")
    monkeypatch.setenv(
        "TACIT_DATA", os.pathsep.join([str(tmp_path / "none"), str(tmp_path / "second")])
    )
    assert find_data_set("tiny") == fetch_data_set("tiny") == path
    assert store.read_data_set("tiny")[1] == "Tiny, from tiny.csv in TACIT_DATA"


def test_origin_file_in_tacit_data_needs_no_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, entry("http://127.0.0.1:1/origin.csv"))
    _written(tmp_path / "d" / "origin.csv")
    monkeypatch.setenv("TACIT_DATA", str(tmp_path / "d"))
    assert store.read_data_set("tiny")[0].height == 2


def test_wrong_checksum_in_tacit_data_is_refused_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, entry(by_hand="Ask the authors."))
    _written(tmp_path / "d" / "tiny.csv", b"other")
    monkeypatch.setenv("TACIT_DATA", str(tmp_path / "d"))
    with pytest.raises(
        DataError,
        match=rf"(?s)tiny\.csv has sha256:\w+ instead of {SUM}.*By hand: Ask the authors\.",
    ):
        fetch_data_set("tiny")


def test_too_deep_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, entry())
    _written(tmp_path / "1" / "2" / "3" / "4" / "5" / "tiny.csv")
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    assert find_data_set("tiny") is None


def test_unreachable_origin_says_what_was_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TACIT_DATA", raising=False)
    with serving(Manners(CONTENT, status=404)) as web:
        install(monkeypatch, entry(web.url))
        with pytest.raises(
            DataError, match=r"(?s)Tried: .*404.*By hand: .*tiny\.csv; or origin\.csv"
        ):
            fetch_data_set("tiny")


def test_catalogue_is_complete_and_well_formed() -> None:
    names = sorted(item.name for item in catalogue.BUILT_IN)
    assert names == [
        "adult", "ag_news", "cardio", "imdb", "mnist", "newsgroups20", "spambase", "sst2",
    ]  # fmt: skip
    for item in catalogue.BUILT_IN:
        assert item.columns.label
        assert item.terms
        assert item.size > 0
        assert item.by_hand or any(way.obtainable for way in item.ways), item.name
        for way in item.ways:
            for file in way.files:
                kind, _, digits = file.checksum.partition(":")
                assert len(digits) == {"md5": 32, "sha256": 64}[kind]


def test_a_set_without_a_free_origin_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TACIT_DATA", raising=False)
    with pytest.raises(DataError, match="By hand: "):
        fetch_data_set("cardio")
