"""Commands of tutorials exist, and their notebooks have the same text and output.

`make test-tutorials` runs them, which takes a minute and more for each.
"""

from __future__ import annotations

import json
import re

import pytest

from tests.docs import tutorials
from tests.docs.test_complete import COMMANDS


@pytest.mark.parametrize("name", tutorials.NAMES)
def test_every_command_of_a_tutorial_exists(name: str) -> None:
    shells = [cell.text for cell in tutorials.read(name) if cell.kind == "sh"]
    for words in re.findall(r"\btacit((?: [a-z]+)+)", "\n".join(shells)):
        starts = [f"tacit{words}".split()[:size] for size in (2, 3, 4)]
        assert any(" ".join(start) in COMMANDS for start in starts), f"no command tacit{words}"


@pytest.mark.parametrize("name", tutorials.NAMES)
def test_a_tutorial_shows_output_and_names_files_before_it_uses_them(name: str) -> None:
    cells = tutorials.read(name)
    files = [cell.title for cell in cells if cell.kind == "file"]
    assert any(cell.kind == "output" for cell in cells)
    assert len(files) == len(set(files))


@pytest.mark.parametrize(
    "name",
    [name for name in tutorials.NAMES if (tutorials.FOLDER / f"{name}.ipynb").exists()],
)
def test_a_notebook_is_current(name: str) -> None:
    """After a change of a page: python -m tests.docs.tutorials --notebooks NAME."""
    text = (tutorials.FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    stored, outputs = json.loads(text)["cells"], []
    for cell in stored:
        shown = cell.pop("outputs", None) or [{"text": []}]
        outputs.append("".join(shown[0]["text"]))
        if cell["cell_type"] == "code":
            cell |= {"execution_count": None, "outputs": []}
    assert stored == tutorials.make_cells(name)
    assert not re.search(r"/(?:tmp|root|home|work|Users)/", text)
    last = -1
    for cell in tutorials.read(name):
        if cell.kind == "output":
            assert not tutorials.compare(tutorials.mask(cell.text), outputs[last], cell.tolerance)
        else:
            last += 1


PRINTED = """
 arm        accuracy     AUC
 ───────────────────────────
 this run     72.4 %   0.794
 FedAvg       71.0 %   0.790

report: runs/mine-1/report.html
"""


@pytest.mark.parametrize(
    ("shown", "tolerance"),
    [
        (PRINTED, 0),
        ("this run 72.4 % 0.794", 0),
        ("this run 72.4 % …\n…\nreport: runs/mine-1/report.html", 0),
        ("this run 72.9 % 0.80", 0.01),
        ("arm accuracy AUC\nthis run 72.4 % 0.794\nFedAvg 71.0 % 0.790", 0),
    ],
)
def test_output_that_was_printed_passes(shown: str, tolerance: float) -> None:
    assert not tutorials.compare(shown, PRINTED, tolerance)


@pytest.mark.parametrize(
    ("shown", "tolerance"),
    [
        ("this run 72.9 % 0.80", 0),
        ("this run 74 % 0.794", 0.01),
        ("this run 72.4 % 0.84", 0.02),
        ("that run 72.4 % 0.794", 0.5),
        ("FedAvg 71.0 % 0.790\nthis run 72.4 % 0.794", 0),
        ("arm accuracy AUC\nreport: runs/mine-1/report.html", 0),
        ("this run 72.4 %", 0),
    ],
)
def test_output_that_was_not_printed_is_found(shown: str, tolerance: float) -> None:
    assert tutorials.compare(shown, PRINTED, tolerance)


def test_a_failing_command_fails_the_tutorial(tmp_path: object) -> None:
    folder = tutorials.Folder(tutorials.Path(str(tmp_path)))
    with pytest.raises(AssertionError, match="exit code 1"):
        folder.run(tutorials.Cell("sh", "false | cat\necho reached\n"))
    assert folder.run(tutorials.Cell("sh", "echo wrong >&2; exit 3\n", code=3)) == "wrong\n"
    folder.close()


def test_python_blocks_share_their_names(tmp_path: object) -> None:
    folder = tutorials.Folder(tutorials.Path(str(tmp_path)))
    folder.run(tutorials.Cell("file", "one = 1\n", title="mine.py"))
    folder.run(tutorials.Cell("python", "from mine import one\n"))
    assert folder.run(tutorials.Cell("python", "print(one + 1)\n")) == "2\n"
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        folder.run(tutorials.Cell("python", "one / 0\n"))
    folder.close()
