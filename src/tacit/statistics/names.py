"""Names of frequent values that nobody stated, read from sums.

A name has a bucket, by a hash of it, and a code: its bytes, a zero byte, and 16 bits of a second
hash. In sums of codes with signs, every bit of a name that enough people have can be read. A name is
accepted only if its hashes fit, so noise makes up a name with a probability below 1e-5 per bucket.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.printable import is_plain_name
from tacit.statistics.cells import LONGEST_NAME

CHECK_BITS, LANES = 16, 16
NAME_BITS = 8 * (LONGEST_NAME + 1)
CODE_BITS = NAME_BITS + CHECK_BITS
_WEAK_BITS, _MOST_FLIPS = 10, 3


class NameHash(NamedTuple):
    """The hashes of a name: a large one for its bucket, one of the lanes that count it, and the check
    bits.
    """

    bucket: int
    lane: int
    check: NDArray[np.bool_]


@lru_cache(maxsize=1 << 16)
def hash_name(name: bytes) -> NameHash:
    """Hash a name; the same at every site."""
    found = hashlib.blake2b(name, digest_size=16, person=b"tacit-names").digest()
    check = np.unpackbits(np.frombuffer(found[12:14], np.uint8)).astype(np.bool_)
    return NameHash(int.from_bytes(found[:8], "little"), found[8] % LANES, check)


@lru_cache(maxsize=1 << 14)
def encode_name(name: bytes) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The places of a name's code and the sign at each: its bits, a zero byte unless it has the full
    length, and the check bits.
    """
    text = name if len(name) == LONGEST_NAME else name + b"\0"
    bits = np.unpackbits(np.frombuffer(text, np.uint8)).astype(np.bool_)
    places = np.concatenate([np.arange(len(bits)), np.arange(NAME_BITS, CODE_BITS)])
    return places, np.where(np.concatenate([bits, hash_name(name).check]), 1.0, -1.0)


def decode_name(sums: NDArray[np.float64], bucket: int, buckets: int) -> str | None:
    """The name whose codes add up to `sums` in a bucket; None if none fits its hashes.

    Up to three of the ten least certain bits are corrected.
    """
    bits, certain = sums > 0, np.abs(sums)
    for length in range(1, LONGEST_NAME + 1):
        used = 8 * length + (8 if length < LONGEST_NAME else 0)
        weak = np.argsort(certain[:used], kind="stable")[:_WEAK_BITS]
        for flips in range(_MOST_FLIPS + 1):
            for chosen in combinations(weak.tolist(), flips):
                found = _read_name(bits, length, used, chosen)
                if found is not None and _fits(found, bits, bucket, buckets):
                    return found.decode()
    return None


def _read_name(
    bits: NDArray[np.bool_], length: int, used: int, flips: tuple[int, ...]
) -> bytes | None:
    """The first bytes as a name, with some bits flipped; None if they are no name of this length."""
    some = bits[:used].copy()
    some[list(flips)] ^= True
    packed = np.packbits(some).tobytes()
    name, end = packed[:length], packed[length:]
    if end.strip(b"\0") or b"\0" in name:
        return None
    try:
        return name if is_plain_name(name.decode()) else None
    except UnicodeDecodeError:
        return None


def _fits(name: bytes, bits: NDArray[np.bool_], bucket: int, buckets: int) -> bool:
    hashed = hash_name(name)
    wrong = int((hashed.check != bits[NAME_BITS:CODE_BITS]).sum())
    return hashed.bucket % buckets == bucket and wrong <= 1
