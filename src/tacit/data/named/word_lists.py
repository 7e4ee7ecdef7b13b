"""Public lists of a language's words, most frequent first: fetched once, checked, and kept in the
cache.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import msgspec

from tacit.data.download.fetch import Progress, matches_checksum
from tacit.data.download.packages import Package, unpack
from tacit.errors import DataError, did_you_mean
from tacit.files import get_cache_folder

TERMS = (
    "word frequencies of wordfreq 3.1.1 (Speer 2022): Apache 2.0, its data CC BY-SA 4.0 and like"
    " terms."
)

_SPEC, _SIZE = "wordfreq==3.1.1", 56_834_549
_CHECKSUMS = {
    "en": "dffae8066b78dce0a6667cf5f58e567054f902674667090a7ac8a8a44628b05c",
    "de": "8ef04d3f4a28fb48d800d25fa80a96d90a5f80c8496c9a453f99f887c6ad3c12",
    "es": "14f326b4f68d517f9b8b99c1e26ef56a508d2dc8d0ee7a9e6e8732ddab1aa65e",
    "fr": "6f16cd80b9b66c5698ed002becea83ae30d0584c3205f1cf01714ad562c00c8b",
    "it": "0b5500e425a50e0f1fefb256d9125e74f586ac6b2f2a6e41bc96634bd5613cc7",
    "nl": "cfdae01b2ccd5bc94be046645b6ba8682e65d6709beedf6ab98d7bdc5414d671",
    "pl": "fac63e49c49ea2e39dd8a48152d7e54cec0920abbc59993088063ed5d9b528c2",
    "pt": "7d764586bca6262f554d5fa77ad8e6841ef42534776e70558065140853660ce2",
    "sv": "16971de5b9c6731b0dc3647743f93357bd7ead336f783aa3f747db6855e36a90",
}


def load_word_list(name: str, progress: Progress | None = None) -> tuple[str, ...]:
    """Load the words of a list, most frequent first: a language by its code, or a file with one
    word per line.

    Guarantees: a language's words come from a file with the expected checksum. Without network and
    cache a DataError says what to put where.
    """
    path = Path(name)
    if path.is_file():
        return _read_lines(path)
    if name not in _CHECKSUMS:
        known = ", ".join(_CHECKSUMS)
        raise DataError(
            f"features.list = {name!r} is neither one of {known} nor a file with one word per"
            f" line.{did_you_mean(name, list(_CHECKSUMS))}"
        )
    return _read_binned(_get_file(name, progress))


def find_word_list(name: str) -> tuple[str, ...] | None:
    """The words of a language's list if it is in the cache; nothing is fetched."""
    path = get_cache_folder() / "word_lists" / f"large_{name}.msgpack.gz"
    return (
        _read_binned(path)
        if name in _CHECKSUMS
        and path.is_file()
        and matches_checksum(path, f"sha256:{_CHECKSUMS[name]}")
        else None
    )


def _read_lines(path: Path) -> tuple[str, ...]:
    try:
        return tuple(line.strip() for line in path.read_text("utf-8").splitlines() if line.strip())
    except UnicodeDecodeError:
        raise DataError(f"features.list = {str(path)!r} is not UTF-8; convert it") from None


def _get_file(name: str, progress: Progress | None) -> Path:
    """Locate the published file: in the cache if it is there, else from its package."""
    folder, file, checksum = (
        get_cache_folder() / "word_lists",
        f"large_{name}.msgpack.gz",
        f"sha256:{_CHECKSUMS[name]}",
    )
    if (folder / file).is_file() and matches_checksum(folder / file, checksum):
        return folder / file
    package = Package(
        registry="pip", spec=_SPEC, size=_SIZE, members={file: f"wordfreq/data/{file}"}
    )
    try:
        return unpack(package, {file: checksum}, folder, progress)[file]
    except DataError as error:
        raise DataError(
            f"features.list = {name!r}: {file} is not in the cache and could not be downloaded.\n"
            f" Tried: {error}.\n By hand: take {file} out of {package} and put it into {folder}, or"
            " name a file of your own with one word per line."
        ) from None


def _read_binned(path: Path) -> tuple[str, ...]:
    """Read the words of a file that holds, after a header, one list of words for each step of
    falling frequency.
    """
    _, *bins = msgspec.msgpack.decode(gzip.decompress(path.read_bytes()))
    return tuple(word for one in bins for word in one)
