"""The tables shipped with the Hash-Comb prototype: spam, cardio and two attacks, normalised, in ten
folds each.
"""

from __future__ import annotations

from tacit.data.named.entry import File, NamedDataSet, Way
from tacit.data.named.text import read_parquet
from tacit.plan import Columns


def _build_entry(
    what: str, title: str, rows: int, features: int, sha256: str, size: int
) -> NamedDataSet:
    name = f"hashcomb_{what}"
    return NamedDataSet(
        name=name,
        title=f"Hash-Comb authors' table: {title}",
        rows=rows,
        terms=(
            "Shipped with the authors' prototype (github.com/davidecerutti/HashComb), no licence"
            " stated; see the underlying set."
        ),
        columns=Columns(label="label", numeric=tuple(f"x{number}" for number in range(features))),
        ways=(
            Way(
                name="prepared",
                files=(File(name=f"{name}.parquet", checksum=f"sha256:{sha256}", size=size),),
                read=read_parquet,
                keep=True,
                note="already scaled to 0..1; some rows stand more than once",
            ),
        ),
        by_hand=(
            "The origin is a .rar archive, which Tacit does not unpack. Take it from"
            " Hash-Comb-Java-deprecated/SecMLP_FedAVG4/data/Statistical in"
            " github.com/davidecerutti/HashComb, unpack it, join its ten CSV folds into one file"
            " with a header, and give that file as data.source with your own data.columns."
        ),
    )


SPAM = _build_entry(
    "spam",
    "Spambase",
    6_879,
    57,
    "4a9071f655e064ab03cd18dab6c9eded0bd4500e7a46faaee164319ea5475248",
    385_796,
)
CARDIO = _build_entry(
    "cardio",
    "Cardiovascular disease",
    26_250,
    11,
    "020b99852effca69af0acacdec5cf491545ef5b08b83dcc2e9ce0f9edb2863d4",
    199_499,
)
OKIRU = _build_entry(
    "okiru",
    "IoT-23 Okiru",
    23_663,
    12,
    "de4c0bf344a1be3888d70fd485ba276aebb60da8c097e1da31144d6c92e608b3",
    69_173,
)
HPS = _build_entry(
    "hps",
    "IoT-23 horizontal port scan",
    23_519,
    12,
    "9b19346b4fb9c99cbf4a04583bc4eabeaa4f4d5f6527d744becf6f9e13341ece",
    81_268,
)
