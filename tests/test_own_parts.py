"""Rules, attacks, data sets and models of a user's own: the examples of docs/guides/extend.md are trained with, pinned and refused."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tacit
from tacit import plan, simulation
from tacit.errors import PlanError, RunError
from tacit.plan import find_own_parts
from tacit.runs import checkpoint
from tacit.runs.record import Round
from tacit.simulation.baselines.arms import list_arms
from tests.simulation.small import write_csv

PAGE = (Path(__file__).parents[1] / "docs" / "guides" / "extend.md").read_text()
BASE = {
    "name": "own",
    "data": {
        "source": "r.csv",
        "clients": 4,
        "columns": {"text": ["opinion"], "label": "stars"},
    },
    "features": {"buckets": 50},
    "codec": {"name": "plain"},
    "server": {"rounds": 2},
}
PARTS = {
    "rule": ("server.rule", "nearest:nearest"),
    "attack": ("corrupt.kind", "swap:shuffled"),
    "data set": ("data.source", "visits:load"),
    "model": ("model.name", "nets:Net"),
    "sharing rule": ("data.share.rule", "closeness:t_close"),
}
each = pytest.mark.parametrize("part", PARTS)


def example(part: str) -> tuple[str, dict[str, Any]]:
    """The code and the tables of the page's section about a part."""
    section = re.split(r"\n## ", PAGE.partition(f"{part} of your own\n")[2])[0]
    code, tables = re.findall(r"```(?:python|toml)\n(.*?)```", section, re.DOTALL)
    return code, plan.toml.tree_of(tables)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for modules on the path; rows are in the working folder."""
    made, here = tmp_path / "parts", tmp_path / "here"
    made.mkdir()
    here.mkdir()
    monkeypatch.syspath_prepend(str(made))
    monkeypatch.chdir(here)
    rows = pl.read_csv(write_csv(here / "r.csv", rows=80)).with_row_index("row")
    age, sex = 20 + pl.col("row") % 2, pl.when(pl.col("row") % 3 > 0).then(pl.lit("f"))
    rows.with_columns(age=age, sex=sex.otherwise(pl.lit("m"))).write_csv(here / "r.csv")
    return made


def merge(base: dict[str, Any], tables: dict[str, Any]) -> dict[str, Any]:
    """The base's tables with the page's; those of a data set replace [data]."""
    if "source" in tables.get("data", {}):
        return {**base, **tables}
    found = dict(base)
    for key, value in tables.items():
        both = isinstance(value, dict) and isinstance(base.get(key), dict)
        found[key] = merge(base[key], value) if both else value
    return found


def write(folder: Path, part: str, change: str = "") -> plan.Plan:
    """Write the page's code, with a mark that it leaves when it runs, and return a plan that names it."""
    code, tables = example(part)
    module = PARTS[part][1].partition(":")[0]
    mark = "from pathlib import Path\nPath(__file__).with_name('ran').touch()\n"
    (folder / f"{module}.py").write_text(f"{code}\n{mark}\n{change}\n")
    forget(folder, part)
    return plan.parse(merge(BASE, tables))


def forget(folder: Path, part: str) -> None:
    sys.modules.pop(PARTS[part][1].partition(":")[0], None)
    (folder / "ran").unlink(missing_ok=True)
    shutil.rmtree(folder / "__pycache__", ignore_errors=True)


@each
def test_the_part_of_the_page_is_trained_with_and_pinned(folder: Path, part: str) -> None:
    settings = write(folder, part)
    assert not (folder / "ran").exists(), "reading a plan runs no code"
    run = tacit.run(settings, observer=tacit.Silence())
    assert (folder / "ran").exists()
    key, name = PARTS[part]
    found = find_own_parts(plan.load(run.folder / "plan.toml"))
    code = (folder / f"{name.partition(':')[0]}.py").read_bytes()
    assert found == {key: f"{name}@sha256:{hashlib.sha256(code).hexdigest()}"}


@each
def test_a_folder_s_part_runs_only_if_it_is_allowed(folder: Path, part: str) -> None:
    class Stop(simulation.Silence):
        def entry(self, entry: object) -> None:
            if isinstance(entry, Round):
                raise KeyboardInterrupt

    settings = write(folder, part)
    whole = tacit.run(settings, observer=tacit.Silence())
    with pytest.raises(KeyboardInterrupt):
        simulation.start(settings, Path("runs"), Stop())
    forget(folder, part)
    with pytest.raises(RunError, match=f"{PARTS[part][0]} names Python code"):
        tacit.resume("own-2", observer=tacit.Silence())
    assert not (folder / "ran").exists()
    resumed = tacit.resume("own-2", observer=tacit.Silence(), allow_code=True)
    model = "model.safetensors"
    assert (resumed.folder / model).read_bytes() == (whole.folder / model).read_bytes()


@each
def test_changed_code_is_refused(folder: Path, part: str) -> None:
    settings = plan.pin_own_parts(write(folder, part))
    write(folder, part, "changed = True")
    with pytest.raises(PlanError, match=rf"{PARTS[part][0]} = .* is not the one that was recorded"):
        tacit.run(settings, observer=tacit.Silence())


@each
def test_what_is_missing_is_named_before_data_is_read(folder: Path, part: str) -> None:
    settings = write(folder, part)
    Path("r.csv").unlink()
    key, name = PARTS[part]
    module, _, attribute = name.partition(":")
    (folder / f"{module}.py").write_text("other = 1\n")
    with pytest.raises(PlanError, match=rf"{key} = .* has no '{attribute}'"):
        tacit.run(settings, observer=tacit.Silence())
    (folder / f"{module}.py").unlink()
    forget(folder, part)
    with pytest.raises(PlanError, match=rf"{key} = .* cannot be imported.*install its package"):
        tacit.run(settings, observer=tacit.Silence())
    assert not list(Path().glob("runs/*"))


@pytest.mark.parametrize(
    ("part", "change", "said"),
    [
        ("rule", "nearest = 3", r"must be a function that takes \(updates, memory, keep=…\), got 3"),
        ("rule", "def nearest(updates): ...", r"takes \(updates, memory, keep=…\): too many positional"),
        ("rule", "def nearest(a, b, *, size=1): ...", r"unexpected keyword argument 'keep'"),
        ("attack", "class shuffled: ...", r"corrupt.kind = .* must be a function"),
        ("attack", "def shuffled(update): ...", r"takes \(update, draws, scale=…\)"),
        ("data set", "def load(path): ...", r"data.source = .* missing a required argument: 'path'"),
        ("sharing rule", "def t_close(rows): ...", r"takes \(classes, t=…\)"),
        ("model", "Net = 3", r"model.name = .* torch.nn.Module"),
    ],
)  # fmt: skip
def test_what_is_no_such_part_is_refused_before_data_is_read(
    folder: Path, part: str, change: str, said: str
) -> None:
    settings = write(folder, part, change)
    Path("r.csv").unlink()
    with pytest.raises(PlanError, match=said):
        tacit.run(settings, observer=tacit.Silence())
    assert not list(Path().glob("runs/*"))


@pytest.mark.parametrize(
    ("part", "returned", "said"),
    [
        ("rule", "nearest = lambda updates, memory, keep: updates.rows[0]", "must return the mean update and a dict"),
        ("rule", "nearest = lambda updates, memory, keep: (updates.rows, {})", "finite numbers, one per parameter"),
        ("rule", "nearest = lambda updates, memory, keep: (updates.rows[0] * np.nan, {})", "that are not finite"),
        ("sharing rule", "t_close = lambda classes, t: [1.0]", "must return one boolean per class"),
        ("sharing rule", "t_close = lambda classes, t: classes.everything > 0", "must return one boolean per class"),
        ("attack", "shuffled = lambda update, draws, scale: update[1:]", "must return .* numbers, one per parameter"),
    ],
)  # fmt: skip
def test_what_a_part_returns_is_checked(folder: Path, part: str, returned: str, said: str) -> None:
    settings = write(folder, part, returned)
    with pytest.raises(PlanError, match=said):
        tacit.run(settings, observer=tacit.Silence())


def test_a_rule_that_averages_gives_the_mean_and_its_memory_is_stored(folder: Path) -> None:
    settings = write(folder, "rule")
    tables = plan.dump(settings)
    tables["server"] |= {"rule_settings": {"keep": 1.0}}
    own = tacit.run(plan.parse(tables), observer=tacit.Silence())
    tables["server"] = {"rounds": 2}
    mean = tacit.run(plan.parse(tables), observer=tacit.Silence())
    assert np.allclose(own.predict_proba("r.csv"), mean.predict_proba("r.csv"), atol=1e-5)
    stored = checkpoint.read(own.folder)
    assert stored is not None
    assert "rule.own.mean" in stored.arrays


def test_an_attack_acts_on_corrupted_clients_only(folder: Path) -> None:
    settings = write(folder, "attack")
    tables = plan.dump(settings)
    attacked = tacit.run(settings, observer=tacit.Silence())
    tables["corrupt"] |= {"clients": 0.0}
    spared = tacit.run(plan.parse(tables), observer=tacit.Silence())
    honest = tacit.run(plan.parse(BASE), observer=tacit.Silence())
    one, two, three = (run.predict_proba("r.csv") for run in (attacked, spared, honest))
    assert np.array_equal(two, three)
    assert not np.array_equal(one, three)


def test_a_data_set_with_a_built_in_name_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, "data set")
    facts = folder / "visits-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: visits\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[tacit.datasets]\nmnist = visits:load\n")
    sys.path.insert(0, f"{folder}/.")
    try:
        tables = {**BASE, "data": {**BASE["data"], "source": "mnist"}}
        with pytest.raises(PlanError, match=r"entry point 'mnist'.*name of a data set of Tacit"):
            tacit.run(plan.parse(tables), observer=tacit.Silence())
    finally:
        sys.path.remove(f"{folder}/.")


def test_a_model_that_declares_private_parameters_is_refused_if_the_plan_would_send_them(
    folder: Path,
) -> None:
    settings = write(folder, "model", "Net.private_parameters = ('layers.0.*',)")
    with pytest.raises(PlanError, match=r"declares private parameters \(layers.0.\*\)"):
        tacit.run(settings, observer=tacit.Silence())
    assert not list(Path().glob("runs/*"))


def test_federated_averaging_shares_what_a_plan_keeps_private() -> None:
    own = plan.parse(
        {
            **BASE,
            "model": {"name": "nets:Net"},
            "private": {"parameters": ["layers.0.*"], "adapt": "pass"},
            "server": {"rounds": 2, "test_rows": 20},
            "baselines": ["fedavg"],
        }
    )
    fedavg = list_arms(own)["fedavg"]
    assert not fedavg.personal
    assert fedavg.server.test_rows is None
    plan.check(fedavg)
