from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tacit.data.download.packages import Package
from tacit.data.named import vectors as room
from tacit.data.named.vectors import VectorSource, load_vectors
from tacit.errors import DataError

WORDS = ("the", 'a "quoted" word', "}:[", "naïve")
VECTORS = {word: [place + 0.5, -1e-3 * place, 2.0, place] for place, word in enumerate(WORDS)}
TREE = {
    "size": 4,
    "words": list(WORDS),
    "vectors": dict(reversed(VECTORS.items())),
    "unkVector": [0, 0, 0, -1],
}
CONTENT = json.dumps(TREE, separators=(",", ":")).encode()


def tiny(content: bytes = CONTENT, words: int = len(WORDS)) -> VectorSource:
    return VectorSource(
        package=Package(
            registry="npm", spec="tiny@1.0", size=10, members={"tiny.json": "package/tiny.json"}
        ),
        checksum=f"sha256:{hashlib.sha256(content).hexdigest()}",
        words=words,
        width=2,
        terms="free",
    )


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Stand in for npm; return the commands it was given."""
    asked: list[list[str]] = []

    def run(command: list[str], cwd: Path, **_: object) -> None:
        asked.append(command)
        with tarfile.open(cwd / "tiny-1.0.tgz", "w:gz") as tarred:
            info = tarfile.TarInfo("package/tiny.json")
            info.size = len(CONTENT)
            tarred.addfile(info, io.BytesIO(CONTENT))

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(room, "SOURCES", {"tiny": tiny()})
    return asked


def test_words_and_vectors_by_frequency_fetched_once(
    downloads: list[list[str]], own_cache: Path
) -> None:
    steps: list[int] = []
    words, matrix = load_vectors("tiny", lambda _what, done, _total: steps.append(done))
    assert words == WORDS
    assert np.array_equal(matrix, np.float32([VECTORS[word][:2] for word in WORDS]))
    assert steps == [0, 10]
    again = load_vectors("tiny")
    assert (again[0], again[1].dtype) == (words, np.float32)
    assert np.array_equal(again[1], matrix)
    assert len(downloads) == 1
    assert sorted(path.name for path in own_cache.rglob("*") if path.is_file()) == [
        "vectors-1.arrow",
        "vectors-1.arrow.sha256",
    ]


def test_a_damaged_stored_table_is_made_again(downloads: list[list[str]], own_cache: Path) -> None:
    load_vectors("tiny")
    (own_cache / "tiny" / "vectors-1.arrow").write_bytes(b"damaged")
    assert load_vectors("tiny")[0] == WORDS
    assert len(downloads) == 2


def test_a_stored_table_with_other_numbers_is_made_again(
    downloads: list[list[str]], own_cache: Path
) -> None:
    words, matrix = load_vectors("tiny")
    pl.DataFrame({"word": words, "vector": matrix + 1}).write_ipc(
        own_cache / "tiny" / "vectors-1.arrow"
    )
    assert np.array_equal(load_vectors("tiny")[1], matrix)
    assert len(downloads) == 2


def test_a_file_put_there_by_hand_is_taken(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "SOURCES", {"tiny": tiny()})
    (own_cache / "tiny").mkdir(parents=True)
    (own_cache / "tiny" / "tiny.json").write_bytes(CONTENT)
    monkeypatch.setattr(
        subprocess, "run", lambda *_args, **_rest: pytest.fail("nothing is to be fetched")
    )
    assert load_vectors("tiny")[0] == WORDS


def test_without_network_the_error_says_what_to_put_where(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def offline(command: list[str], **_: object) -> None:
        raise subprocess.CalledProcessError(1, command, stderr="npm error network request failed")

    monkeypatch.setattr(subprocess, "run", offline)
    with pytest.raises(DataError) as caught:
        load_vectors("glove100")
    assert "network request failed" in str(caught.value)
    assert f"put it into {own_cache / 'glove100'}" in str(caught.value)


def test_unknown_name_and_unexpected_content_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Did you mean 'glove100'"):
        load_vectors("glove10")
    path = tmp_path / "tiny.json"
    path.write_bytes(CONTENT)
    with pytest.raises(DataError, match="has 4 words instead of 9"):
        room.read_json(path, tiny(words=9))
    with pytest.raises(DataError, match="a word without 2 numbers"):
        room.read_json(path, tiny(words=2))
