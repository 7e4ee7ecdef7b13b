"""Reads some hundred damaged Parquet and Arrow files; run by a test in a process of its own, which may be ended by one."""

from __future__ import annotations

import datetime
import io
import resource
import sys
from pathlib import Path

import numpy as np
import polars as pl

from tacit.data.read import read_file
from tacit.errors import DataError

MOST_MEMORY = 4 << 30


def originals() -> list[tuple[str, bytes]]:
    """Return the ending and the bytes of a small table in every columnar form."""
    rows, random = range(60), np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "whole": random.integers(-9, 9, len(rows)),
            "decimal": random.normal(size=len(rows)),
            "text": [f"äö x{row}" * (row % 4) if row % 5 else None for row in rows],
            "truth": [row % 3 == 0 if row % 7 else None for row in rows],
            "class": pl.Series(
                ["a" if row % 2 else "b" for row in rows], dtype=pl.Enum(["a", "b"])
            ),
            "picture": pl.Series(random.integers(0, 255, (len(rows), 6)).astype(np.uint8)),
            "list": [[1, 2] if row % 2 else [] for row in rows],
            "day": [datetime.date(2000, 1, 1) + datetime.timedelta(days=row) for row in rows],
        }
    )
    forms = (
        *(
            (".parquet", lambda file, kind=kind: frame.write_parquet(file, compression=kind))
            for kind in ("zstd", "snappy")
        ),
        *(
            (".arrow", lambda file, kind=kind: frame.write_ipc(file, compression=kind))
            for kind in ("zstd", "uncompressed")
        ),
        (".arrow", frame.write_ipc_stream),
    )
    found = []
    for ending, write in forms:
        file = io.BytesIO()
        write(file)
        found.append((ending, file.getvalue()))
    return found


def mutated(content: bytes, seed: int) -> bytes:
    """Return the content with up to five bytes changed, inserted or removed, half of them near its end."""
    random, changed = np.random.default_rng(seed), bytearray(content)
    for _ in range(random.integers(1, 6)):
        place = int(random.integers(len(changed)))
        if random.random() < 0.5:
            place = max(0, len(changed) - 1 - int(random.exponential(300)))
        fresh = bytes(random.integers(0, 256, 8).astype(np.uint8))
        cut, put = [
            (1, 1),
            (1, 1),
            (1, 1),
            (int(random.integers(1, 9)), 0),
            (0, int(random.integers(1, 9))),
        ][random.integers(5)]
        changed[place : place + cut] = fresh[:put]
    return bytes(changed)


def main(folder: Path, seeds: range) -> None:
    """Print how many files were read and how many refused; anything else ends the process."""
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    forms, read = originals(), 0
    for seed in seeds:
        ending, content = forms[seed % len(forms)]
        path = folder / f"table{ending}"
        path.write_bytes(mutated(content, seed))
        try:
            frame, _ = read_file(str(path))
        except DataError as refusal:
            if "\n" in str(refusal):
                raise
        else:
            str(frame.select(pl.all().exclude("picture", "list").cast(pl.String)))
            read += 1
    print(read, len(seeds) - read)


if __name__ == "__main__":
    main(Path(sys.argv[1]), range(int(sys.argv[2]), int(sys.argv[3])))
