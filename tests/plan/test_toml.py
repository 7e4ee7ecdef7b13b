"""A plan's text is bounded before it is read: no file of a few bytes costs gigabytes or hours."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import pytest

from tacit import plan
from tacit.errors import PlanError
from tacit.plan.toml import DEEPEST, LARGEST, tree_of

BOMBS = {
    "dots": "a." * 50_000 + "a = 1\n",
    "dots and blanks": "a \t. " * 20_000 + "a = 1\n",
    "dots in a header": "[" + "a." * 50_000 + "a]\nx = 1\n",
    "quoted parts": '"a".' * 25_000 + "'b' = 1\n",
    "an inline table": "data = { " + "a." * 40_000 + "a = 1 }\n",
    "brackets": "baselines = " + "[" * 50_000 + "]" * 50_000 + "\n",
    "a few hundred brackets": "baselines = " + "[" * 250 + "]" * 250 + "\n",
    "braces": "a = " + "{ a = " * 20_000 + "1" + " }" * 20_000 + "\n",
    "too long": "x = 1\n" + "# " + "a" * LARGEST,
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_bombs_are_refused_cheaply(tmp_path: Path, text: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(text)
    tracemalloc.start()
    begun = time.perf_counter()
    with pytest.raises(PlanError) as caught:
        plan.load(path)
    seconds, peak = time.perf_counter() - begun, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(str(caught.value)) < 1000
    assert seconds < 10
    assert peak < 100_000_000


@pytest.mark.parametrize(
    "override",
    ["a." * 50_000 + "a=1", "data={ " + "a." * 40_000 + "a = 1 }", "seed=" + "[" * 50_000],
)
def test_overrides_are_bounded_too(tmp_path: Path, override: str) -> None:
    path = tmp_path / "plan.toml"
    path.write_text("seed = 1\n")
    with pytest.raises(PlanError) as caught:
        plan.load(path, [override])
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("quotes", ['"""\\', '"', "'''x", "'", '"\\', '""" ', "#", 'a"""'])
def test_the_look_at_keys_goes_through_a_text_once(quotes: str) -> None:
    begun = time.perf_counter()
    with pytest.raises(ValueError):
        tree_of(quotes * (300_000 // len(quotes)) + "\n[")
    assert time.perf_counter() - begun < 10


@pytest.mark.parametrize("dots", ["a" + ".b" * 50])
@pytest.mark.parametrize(
    "text",
    [
        'x = "{}"',
        "x = '{}'",
        'x = """\n{}"""',
        "x = '''{}'''",
        "x = 1 # {}",
        '"{}" = 1',
        'x = "\\"{}"',
    ],
)
def test_dots_in_strings_and_comments_are_no_keys(text: str, dots: str) -> None:
    assert len(tree_of(text.replace("{}", dots))) == 1


def test_a_key_may_have_eight_parts() -> None:
    key = ".".join("abcdefgh")
    assert len(key.split(".")) == DEEPEST
    assert tree_of(f"{key} = 1.5")["a"]["b"]["c"]["d"]["e"]["f"]["g"] == {"h": 1.5}
    with pytest.raises(ValueError, match="at most 8 parts"):
        tree_of(f"{key}.i = 1")
