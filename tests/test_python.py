"""The habits of Python: plans by path, runs by name, lists and single words, names that complete, progress where somebody looks."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

import tacit
from tacit import progress, report
from tacit.plan import Plan
from tacit.plan.kinds import list_fields, tables_in
from tacit.report import as_json
from tests.report import made_up

ROWS = [
    {"review": f"{word} film {n}", "opinion": word} for n in range(20) for word in ("good", "bad")
]
PLAN = """\
name = "mine"
data.source = "given"
data.clients = 4
data.columns = { text = "review", label = "opinion" }
codec.name = "plain"
server.rounds = 2
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def test_a_plan_is_run_from_its_path_found_by_its_name_and_taken_up_by_it() -> None:
    run = tacit.run("plan.toml", rows=ROWS)
    assert run.folder == Path("runs/mine-1")
    assert (
        tacit.Run("mine-1").model_sha256 == run.model_sha256 == tacit.Run(run.folder).model_sha256
    )
    assert tacit.resume("mine-1", rows=ROWS).model_sha256 == run.model_sha256


def test_the_hash_of_the_model_is_the_one_sha256sum_prints() -> None:
    run = tacit.run("plan.toml", rows=ROWS)
    of_file = hashlib.sha256((run.folder / "model.safetensors").read_bytes()).hexdigest()
    assert run.model_sha256 == of_file
    assert as_json.run_to_json(report.summarise(run.entries), run.folder)["model_sha256"] == of_file
    page = (run.folder / "report.html").read_text(encoding="utf-8")
    assert f"SHA-256 of model.safetensors: {of_file}" in page
    assert run.parameters_sha256 != of_file
    assert run.parameters_sha256 not in page


def test_a_plan_is_loaded_with_overrides() -> None:
    assert tacit.Plan.load("plan.toml", "server.rounds=7").server.rounds == 7
    assert tacit.Plan.load(Path("plan.toml")) == tacit.plan.load(Path("plan.toml"))


def test_a_run_that_is_not_there_names_those_that_are() -> None:
    made_up.folder(Path("runs"), made_up.record(rounds=2), name="news-1")
    with pytest.raises(tacit.RunError, match=r"contains news-1\. Did you mean 'news-1'"):
        tacit.Run("news-2")
    with pytest.raises(tacit.RunError, match="there is no run"):
        tacit.resume("news-2", folder="elsewhere")


@pytest.mark.parametrize(("made", "meant"), [
    (lambda: tacit.Columns(text=["a", "b"]), tacit.Columns(text=("a", "b"))),
    (lambda: tacit.Columns(text="a", numeric="b"), tacit.Columns(text=("a",), numeric=("b",))),
    (lambda: tacit.MLP(hidden=[3, 4]), tacit.MLP(hidden=(3, 4))),
    (lambda: tacit.Plan(baselines=["central"]), tacit.Plan(baselines=("central",))),
    (lambda: tacit.Plan(baselines="central"), tacit.Plan(baselines=("central",))),
    (lambda: tacit.Features(ranges={"age": [0, 100]}), tacit.Features(ranges={"age": (0.0, 100.0)})),
    (lambda: tacit.HashComb(x_min=[-1, -2], x_max=[1, 2]), tacit.HashComb(x_min=(-1.0, -2.0), x_max=(1.0, 2.0))),
    (lambda: tacit.Private(parameters=["table"]), tacit.Private(parameters=("table",))),
])  # fmt: skip
def test_lists_and_single_words_stand_for_tuples(made, meant) -> None:
    assert made() == meant


def test_a_word_stands_for_a_list_in_a_file_too() -> None:
    assert tacit.Plan.load("plan.toml").data.columns.text == ("review",)


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(tacit.PlanError, match="text must be a list, got 3"):
        tacit.Columns(text=3)
    with pytest.raises(tacit.PlanError, match="hidden"):
        tacit.plan.parse({"model": {"name": "mlp", "hidden": "wide"}})


def tables(table: type) -> Iterator[type]:
    yield table
    for field in list_fields(table).values():
        for inner in tables_in(field.annotation).values():
            yield from tables(inner)


def test_every_table_of_a_plan_is_at_the_top() -> None:
    assert [
        table.__name__
        for table in tables(Plan)
        if getattr(tacit, table.__name__, None) is not table
    ] == []


def test_every_name_is_there_and_completes() -> None:
    assert set(dir(tacit)) == {*tacit.__all__, "plan"}
    assert all(getattr(tacit, name) is not None for name in dir(tacit))
    with pytest.raises(AttributeError, match="no attribute 'fit'"):
        _ = tacit.fit  # type: ignore[attr-defined]


def test_importing_loads_no_numerical_library() -> None:
    heavy = "numpy polars pydantic numba torch sklearn rich"
    code = (
        f"import sys, tacit; dir(tacit); print([name for name in '{heavy}'.split() if name in"
        " sys.modules])"
    )
    assert (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout
        == "[]\n"
    )


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_sees_how_far_a_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    tacit.run("plan.toml", rows=ROWS)
    assert "round 2/2" in sys.stderr.getvalue()  # type: ignore[attr-defined]


def test_nobody_sees_it_elsewhere_or_if_silence_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert type(progress.choose_observer()) is progress.ProgressObserver
    monkeypatch.setattr(sys, "stderr", Terminal())
    tacit.run("plan.toml", rows=ROWS, observer=tacit.Silence())
    assert sys.stderr.getvalue() == ""  # type: ignore[attr-defined]
    assert capsys.readouterr().out == ""


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Pretend to be a notebook; return what its cell has shown."""
    shown: list[str] = []
    page = ModuleType("IPython.display")
    page.HTML = str  # type: ignore[attr-defined]
    page.display = lambda html, display_id: (
        shown.append(html) or SimpleNamespace(update=shown.append)
    )  # type: ignore[attr-defined]
    shell = ModuleType("IPython")
    shell.get_ipython = lambda: SimpleNamespace(kernel=None)  # type: ignore[attr-defined]
    shell.display = page  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", page)
    return shown


def test_a_notebook_shows_bars(drawn: list[str]) -> None:
    tacit.run("plan.toml", rows=ROWS)
    assert drawn[0] == "preparing the data"
    assert "<strong>mine-1</strong>" in drawn[-1]
    assert 'value="1.000"' in drawn[-1]
    assert "round 2/2 done" in drawn[-1]
