"""A sample of IoT-23's labelled network flows, with the codes of the sample turned back
into words.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from tacit.data.named.entry import File, NamedDataSet, Way, get_only_file
from tacit.plan import Columns

_FOLDER = "https://raw.githubusercontent.com/Jelkee/IoT-23-Novel-Attack-Detection/7f56251a9318832c2a326b45a15b97d57d9b40fe/filtered"
_PARTS = (
    (
        "supersampled_detailed_label_0.csv",
        "b65a6f36713dff3f9f52b66d8b320868ccf14a2223c88bf2ddd5ed16033e0564",
        1_366_135,
    ),
    (
        "supersampled_detailed_label_1.csv",
        "e2a335e46153b24a9daec1554a21c0e792cdd492c991c2773cb32c32ee45a43e",
        458_959,
    ),
    (
        "supersampled_detailed_label_2.csv",
        "72bbd4016789438119255f380cbac88b6527e7b96247a4789458e7acf36a5fd2",
        482_769,
    ),
    (
        "detailed_label_3.csv",
        "fefebb4f3e4260922eac3250681881be62511fa81daac2424999f8405927bb0f",
        304,
    ),
    (
        "supersampled_detailed_label_4.csv",
        "a3a9ad90ef77587cb38705d8d7472f1f85cb329d61892dec27c315c484b09224",
        487_657,
    ),
    (
        "detailed_label_5.csv",
        "37782f68a59ee762ee50e4d3bc26c90fd14855d99995712a19f8964aa532e623",
        1_784,
    ),
    (
        "supersampled_detailed_label_6.csv",
        "3f24a5f771da306d62c45d17460d6ffb19f5d169360f85990b5a445725173b59",
        472_474,
    ),
    (
        "detailed_label_7.csv",
        "24a999edec13c8f0d0cd92166708bd25a1b3b4af5cf97341e524c76ef93ec57b",
        1_366,
    ),
    (
        "supersampled_detailed_label_8.csv",
        "bddd84d6394923a535f1c99313e24c6d517808566cc308567b1792a71ed5ce28",
        478_138,
    ),
    (
        "detailed_label_9.csv",
        "115dd57db1d78ab863fd6565f00b9b11aaa9fc0cc0f0720b76925faf70123a84",
        536_280,
    ),
)
_NUMERIC = (
    "id.resp_p",
    "duration",
    "orig_bytes",
    "resp_bytes",
    "missed_bytes",
    "orig_pkts",
    "orig_ip_bytes",
    "resp_pkts",
    "resp_ip_bytes",
)
_WORDS = {
    "proto": ("tcp", "udp", "icmp"),
    "service": ("-", "http", "dhcp", "ssh", "dns", "irc"),
    "conn_state": (
        "",
        "S0",
        "REJ",
        "SF",
        "OTH",
        "RSTOS0",
        "RSTR",
        "S2",
        "RSTRH",
        "RSTO",
        "S1",
        "SH",
    ),
    "detailed-label": (
        "Benign",
        "PartOfAHorizontalPortScan",
        "C&C",
        "C&C-Mirai",
        "C&C-HeartBeat",
        "C&C-Torii",
        "DDoS",
        "FileDownload",
        "Okiru",
        "Attack",
    ),
}


def read_sample(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read the flows of the joined file; a number that was not logged is -1, as in the sample."""
    return _parse_table(gzip.decompress(get_only_file(files).read_bytes()))


def read_parts(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read the flows of the ten files, one per detailed label, in label order."""
    return pl.concat(
        [
            _parse_table(files[name].read_bytes().replace(b"\r\n", b"\n"))
            for name, _, _ in _PARTS
            if name in files
        ]
    )


def _parse_table(content: bytes) -> pl.DataFrame:
    table = pl.read_csv(content, infer_schema=False)
    codes = [
        pl.col(name).cast(pl.Float64).cast(pl.Int32).replace_strict(dict(enumerate(words)))
        for name, words in _WORDS.items()
    ]
    return table.with_columns(
        *codes, pl.col(*_NUMERIC).cast(pl.Float64), pl.col("label").cast(pl.Int8)
    ).drop("local_orig", "local_resp")


ENTRY = NamedDataSet(
    name="iot23",
    title="IoT-23 network flows, a sample",
    rows=89_448,
    terms=(
        "CC BY 4.0; cite Garcia, Parmisano, Erquiaga 2020 (doi 10.5281/zenodo.4743746). Sampled by"
        " J. Schröder."
    ),
    columns=Columns(
        label="label", numeric=_NUMERIC, categorical=("proto", "service", "conn_state")
    ),
    ways=(
        Way(
            name="prepared",
            files=(
                File(
                    name="iot23_sample_encoded.csv.gz",
                    checksum=(
                        "sha256:96f46d6d00465db118e091d9bf14bf6cc58e58d3fa9dd5391ae4f4ca4d90fe5d"
                    ),
                    size=210_156,
                ),
            ),
            read=read_sample,
            keep=True,
        ),
        Way(
            name="origin",
            files=tuple(
                File(name=name, checksum=f"sha256:{sha256}", size=size, url=f"{_FOLDER}/{name}")
                for name, sha256, size in _PARTS
            ),
            read=read_parts,
        ),
    ),
)
