"""Frozen networks: the numbers are those of their layers, each picture is read once, and a stop loses one chunk at most."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tacit.errors import DataError, PlanError
from tacit.features import Fitted, count_inputs, encode, fit
from tacit.plan import Columns, Features

torch = pytest.importorskip("torch")
from torch import nn  # noqa: E402

from tacit.features import frozen  # noqa: E402
from tacit.features.frozen import efficientnet  # noqa: E402
from tacit.features.frozen.efficientnet import EfficientNetLite0  # noqa: E402
from tacit.features.frozen.view import NetworkView  # noqa: E402

PICTURES = np.random.default_rng(1).integers(
    0, 256, (10, 12), dtype=np.uint8
)  # 2 by 2, red, green, blue


class Counting:
    """A network of one number per channel that counts what it was shown, and may be stopped."""

    def __init__(self) -> None:
        self.batches, self.stop_after = 0, 99
        self.meanwhile: Callable[[], object] | None = None

    def __call__(self, pictures: torch.Tensor) -> torch.Tensor:
        if meanwhile := self.meanwhile:
            self.meanwhile = None
            meanwhile()
        if self.batches == self.stop_after:
            raise KeyboardInterrupt
        self.batches += 1
        return pictures.mean((2, 3))


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Counting:
    made = Counting()
    view = NetworkView(
        network=made, size=(4, 4), middle=(0.0, 0.0, 0.0), spread=(1.0, 2.0, 4.0), width=3
    )
    monkeypatch.setattr(frozen, "_load_efficientnet", lambda _folder: view)
    monkeypatch.setattr(frozen, "_BATCH", 2)
    monkeypatch.setattr(frozen, "_CHUNK", 4)
    return made


def reader(folder: Path, ticks: list[tuple[int, int]] | None = None):
    heard = (lambda done, total: ticks.append((done, total))) if ticks is not None else None
    return frozen.build_frozen_reader("efficientnet_lite0", folder, folder / "cache", heard)


def expected(pictures: np.ndarray) -> np.ndarray:
    return pictures.reshape(-1, 4, 3).mean(1) / [1, 2, 4]


def test_a_picture_is_read_once_whatever_the_split(network: Counting, tmp_path: Path) -> None:
    ticks: list[tuple[int, int]] = []
    np.testing.assert_allclose(
        reader(tmp_path, ticks)(PICTURES[:7]), expected(PICTURES[:7]), rtol=1e-5
    )
    assert (network.batches, ticks) == (4, [(4, 7), (7, 7)])
    mixed = PICTURES[[9, 2, 2, 8, 0, 9]]
    np.testing.assert_allclose(reader(tmp_path)(mixed), expected(mixed), rtol=1e-5)
    assert network.batches == 5, "only pictures 8 and 9 are new, and equal ones are read once"


def test_a_stop_loses_one_chunk_at_most(network: Counting, tmp_path: Path) -> None:
    network.stop_after = 3
    with pytest.raises(KeyboardInterrupt):
        reader(tmp_path)(PICTURES)
    network.stop_after = 99
    np.testing.assert_allclose(reader(tmp_path)(PICTURES), expected(PICTURES), rtol=1e-5)
    assert network.batches == 3 + 3


def test_what_was_damaged_is_read_again(network: Counting, tmp_path: Path) -> None:
    first = reader(tmp_path)(PICTURES)
    file = next((tmp_path / "cache").glob("*/*.safetensors"))
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    before = network.batches
    np.testing.assert_array_equal(reader(tmp_path)(PICTURES), first)
    assert 1 <= network.batches - before <= 2


def test_other_weights_have_a_place_of_their_own(network: Counting, tmp_path: Path) -> None:
    reader(tmp_path)(PICTURES)
    (tmp_path / "model.safetensors").write_bytes(b"others")
    reader(tmp_path)(PICTURES)
    assert len(list((tmp_path / "cache").iterdir())) == 2


def test_grey_pictures_are_shown_in_three_channels_and_others_refused(
    network: Counting, tmp_path: Path
) -> None:
    grey = PICTURES[:, :9]
    found = reader(tmp_path)(grey)
    np.testing.assert_allclose(found, grey.mean(1)[:, None] / [1, 2, 4], rtol=0.2)
    assert np.ptp(found * [1, 2, 4], axis=1).max() < 1e-3
    with pytest.raises(DataError, match="requires square images, grey or RGB, got 10 values"):
        reader(tmp_path)(PICTURES[:, :10])


COLUMNS = Columns(image="picture", label="what")
FRAME = pl.DataFrame({"picture": pl.Series(PICTURES), "what": [0, 1] * 5})


def test_rows_of_a_plan_hold_what_the_network_reads(network: Counting, tmp_path: Path) -> None:
    settings = Features(image="efficientnet_lite0")
    fitted = fit(FRAME, COLUMNS, settings, reader=reader(tmp_path))
    rows = encode(FRAME, COLUMNS, settings, fitted, reader=reader(tmp_path))
    np.testing.assert_allclose(rows.inputs.matrix, expected(PICTURES), rtol=1e-5)
    assert rows.inputs.width == count_inputs(COLUMNS, settings, fitted) == 3
    assert fitted.released == ()


def test_a_projection_is_fitted_on_public_rows_only(network: Counting, tmp_path: Path) -> None:
    settings = Features(image="efficientnet_lite0", project=2)
    with pytest.raises(PlanError, match=r"features\(project=2\) is fitted on public rows"):
        fit(FRAME, COLUMNS, settings, reader=reader(tmp_path))
    fitted = fit(FRAME[:5], COLUMNS, settings, reader=reader(tmp_path), public=FRAME[5:])
    others = fit(FRAME[2:4], COLUMNS, settings, reader=reader(tmp_path), public=FRAME[5:])
    assert fitted.projection == others.projection
    assert fitted.released == ()
    assert Fitted.from_dict(fitted.to_dict()) == fitted
    rows = encode(FRAME, COLUMNS, settings, fitted, reader=reader(tmp_path))
    assert rows.inputs.matrix.shape == (10, 2)
    assert count_inputs(COLUMNS, settings, fitted) == 2


def test_the_network_a_plan_names_must_be_there_and_have_pictures(
    network: Counting, tmp_path: Path
) -> None:
    with pytest.raises(PlanError, match="needs the reader of that network"):
        fit(FRAME, COLUMNS, Features(image="efficientnet_lite0"))
    with pytest.raises(PlanError, match="needs no reader"):
        fit(FRAME, COLUMNS, Features(), reader=reader(tmp_path))
    with pytest.raises(PlanError, match="require an image column"):
        fit(FRAME, Columns(numeric=("what",), label="what"), Features(image="efficientnet_lite0"))


def layers(
    name: str, channels: int, out: int, kernel: int, stride: int, alone: bool = False
) -> tuple[nn.Module, nn.Module]:
    """Return a convolution and a batch normalisation as PyTorch has them, with made-up values."""
    convolution = nn.Conv2d(
        channels, out, kernel, stride, bias=False, groups=channels if alone else 1
    )
    norm = nn.BatchNorm2d(out, eps=1e-3)
    for values in (norm.weight.data, norm.bias.data, norm.running_mean):
        values.normal_(0.5, 0.5)
    norm.running_var.uniform_(0.5, 2)
    return convolution, norm.eval()


def test_efficientnet_is_its_layers_with_the_normalisation_folded_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    monkeypatch.setattr(efficientnet, "_STRIDES", (1, 2, 1))
    # As in the published file: names, three convolutions a block, the first block without the widening one.
    parts = {"_conv_stem/_bn0": layers("stem", 3, 4, 3, 2)}
    for number, (width_in, inner, out, kernel, stride) in enumerate(
        [(4, 4, 4, 3, 1), (4, 8, 6, 5, 2), (6, 12, 6, 3, 1)]
    ):
        if number:
            parts[f"_blocks.{number}._expand_conv/_blocks.{number}._bn0"] = layers(
                "wider", width_in, inner, 1, 1
            )
        parts[f"_blocks.{number}._depthwise_conv/_blocks.{number}._bn1"] = layers(
            "alone", inner, inner, kernel, stride, True
        )
        parts[f"_blocks.{number}._project_conv/_blocks.{number}._bn2"] = layers(
            "fewer", inner, out, 1, 1
        )
    parts["_conv_head/_bn1"] = layers("head", 6, 10, 1, 1)
    stored = {}
    for names, (convolution, norm) in parts.items():
        stored |= {
            f"{names.split('/')[0]}.{key}": value for key, value in convolution.state_dict().items()
        }
        stored |= {
            f"{names.split('/')[1]}.{key}": value for key, value in norm.state_dict().items()
        }
    torch.save(stored, tmp_path / "weights.pth")

    def layer(names: str, x: torch.Tensor) -> torch.Tensor:
        convolution, norm = parts[names]
        kernel, stride = convolution.kernel_size[0], convolution.stride[0]
        before = (kernel - stride) // 2 if x.shape[-1] % 2 == 0 else (kernel - 1) // 2
        after = kernel - stride - before if x.shape[-1] % 2 == 0 else (kernel - 1) // 2
        x = norm(
            convolution(nn.functional.pad(x, (before, after, before, after)) if kernel > 1 else x)
        )
        return x if "project" in names else nn.functional.relu6(x)

    with torch.no_grad():
        pictures = torch.randn(2, 3, 16, 16)
        x = layer("_conv_stem/_bn0", pictures)
        for number in range(3):
            before = x
            for names in (one for one in parts if one.startswith(f"_blocks.{number}.")):
                x = layer(names, x)
            x = x + before if number != 1 else x
        want = layer("_conv_head/_bn1", x).mean((2, 3))
        torch.testing.assert_close(
            EfficientNetLite0(tmp_path / "weights.pth")(pictures), want, rtol=1e-4, atol=1e-5
        )


def test_a_checkpoint_in_a_folder_reads_pictures(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.ViTConfig(
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        image_size=8,
        patch_size=4,
    )
    network = transformers.ViTModel(config, add_pooling_layer=False).eval()
    network.save_pretrained(tmp_path / "vit")
    (tmp_path / "vit" / "preprocessor_config.json").write_text(
        '{"size": {"height": 8, "width": 8}, "image_mean": [0.5, 0.4, 0.3], "image_std": [0.2, 0.2,'
        " 0.2]}"
    )
    pictures = np.random.default_rng(0).integers(
        0, 256, (3, 192), dtype=np.uint8
    )  # 8 by 8, so nothing is scaled
    made = frozen.build_frozen_reader(str(tmp_path / "vit"), tmp_path / "vit", tmp_path / "cache")
    shown = (
        torch.from_numpy(pictures).view(3, 8, 8, 3).permute(0, 3, 1, 2) / 255
        - torch.tensor([0.5, 0.4, 0.3]).view(3, 1, 1)
    ) / 0.2
    with torch.no_grad():
        want = network(pixel_values=shown).last_hidden_state[:, 0]
    assert made.width == 8
    np.testing.assert_allclose(made(pictures), want.numpy(), rtol=1e-3, atol=1e-4)
    (tmp_path / "vit" / "model.safetensors").unlink()
    torch.save(network.state_dict(), tmp_path / "vit" / "pytorch_model.bin")
    with pytest.raises(
        DataError, match="transformers cannot load an image network"
    ):  # pickled weights are not opened
        frozen.build_frozen_reader(str(tmp_path / "vit"), tmp_path / "vit", tmp_path / "cache")


def test_a_folder_without_an_image_network_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    (tmp_path / "config.json").write_text('{"model_type": "no such network"}')
    with pytest.raises(DataError, match="transformers cannot load an image network"):
        frozen.build_frozen_reader(str(tmp_path), tmp_path, tmp_path / "cache")


def test_processes_that_read_the_same_pictures_share_the_work(
    network: Counting, tmp_path: Path
) -> None:
    ticks: list[tuple[int, int]] = []
    network.meanwhile = lambda: reader(tmp_path)(PICTURES)
    np.testing.assert_allclose(reader(tmp_path, ticks)(PICTURES), expected(PICTURES), rtol=1e-5)
    assert network.batches == 5 + 2, "the other read all, this one the chunk it had begun"
    assert len(ticks) == 1
