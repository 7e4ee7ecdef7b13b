"""Named data sets of installed packages: found by name, imported only when used or listed, and never in place of another."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tacit import data, extensions, plan, simulation
from tacit.data.named import catalogue
from tacit.errors import DataError, PlanError, RunError
from tacit.plan import find_own_parts

CODE = """
from pathlib import Path

import polars as pl

from tacit.data.named.entry import File, NamedDataSet, Way
from tacit.plan import Columns

Path(__file__).with_name("ran").touch()


def load():
    return [{"age": 20 + n % 60, "again": n % 60 > 30} for n in range(300)]


def read(files):
    return pl.DataFrame(load())


def named(name):
    file = File(name="visits.bin", checksum="md5:0cc175b9c0f1b6a831c399e269772661", size=1)
    return NamedDataSet(
        name=name,
        title="Visits",
        rows=300,
        terms="free",
        columns=Columns(numeric=("age",), label="again"),
        ways=(Way(name="prepared", files=(file,), read=read),),
    )


VISITS = named("visits")
OTHER = named("others")
MNIST = named("mnist")
NUMBER = 3
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with the module of an installed package, and the file of its data set."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "visits_package.py").write_text(CODE)
    (folder / "visits.bin").write_bytes(b"a")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("TACIT_DATA", str(folder))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "visits_package", raising=False)
    return folder


def install(package: Path, **points: str) -> None:
    """Install entry points of the group tacit.datasets, by name."""
    facts = package / "visits-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: visits\nVersion: 1.0\n")
    lines = [f"{name} = visits_package:{attribute}" for name, attribute in points.items()]
    (facts / "entry_points.txt").write_text("\n".join(["[tacit.datasets]", *lines, ""]))
    extensions._find_entry_points.cache_clear()


def tree(source: str, **more: object) -> dict[str, object]:
    settings = {"source": source, "clients": 4, **more}
    return {"name": "own", "data": settings, "codec": {"name": "plain"}, "server": {"rounds": 2}}


def ran(package: Path) -> bool:
    return (package / "ran").exists()


def test_a_plan_trains_on_it_by_its_name_and_columns(package) -> None:
    install(package, visits="VISITS")
    job = plan.parse(tree("visits"))
    assert job.data.source == "visits_package:VISITS"
    assert not ran(package), "reading a plan runs no code"
    assert not data.resolve_columns(job.data, import_code=False).label
    assert not ran(package)
    place = simulation.start(job, Path("runs"))
    (pinned,) = find_own_parts(plan.load(place / "plan.toml")).values()
    assert pinned.path == "visits_package:VISITS"
    assert pinned.sha256


def test_it_is_listed_and_located_as_the_others(package) -> None:
    install(package, visits="VISITS", rows="load")
    names = [entry.name for entry in data.list_data_sets()]
    assert names == sorted(names)
    assert "visits" in names
    assert "rows" not in names, "a function has no files"
    assert data.find_data_set("visits") == package / "visits.bin"
    with pytest.raises(DataError, match="'rows' is a function that returns rows"):
        data.find_data_set("rows")


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ({"mnist": "VISITS"}, r"entry point 'mnist'.*name of a data set of Tacit"),
        ({"mnist": "load"}, r"entry point 'mnist'.*name of a data set of Tacit"),
        ({"visits": "MNIST"}, r"is called 'mnist', which is the name of another data set"),
        ({"visits": "OTHER"}, r"is called 'others', but its entry point is 'visits'"),
        ({"visits": "OTHER", "others": "VISITS"}, r"is called 'others', which is the name of another"),
        ({"visits": "NUMBER"}, r"must be a function that takes \(\), got 3"),
    ],
)  # fmt: skip
def test_none_takes_the_name_of_another(package, points, said) -> None:
    install(package, **points)
    with pytest.raises(PlanError, match=said):
        data.list_data_sets()
    with pytest.raises(PlanError, match=said):
        simulation.start(plan.parse(tree(next(iter(points)))), Path("runs"))
    assert not list(Path().glob("runs/*"))


def test_a_built_in_name_stays_the_built_in_set(package) -> None:
    install(package, mnist="VISITS")
    assert catalogue.get_entry("mnist") in catalogue.BUILT_IN
    assert not ran(package)


def test_rows_of_a_function_need_the_roles_of_their_columns(package) -> None:
    install(package, rows="load")
    with pytest.raises(PlanError, match=r"returns rows: data\.columns\.label is required"):
        simulation.start(plan.parse(tree("rows")), Path("runs"))
    columns = {"numeric": ["age"], "label": "again"}
    with pytest.raises(PlanError, match=r"returns rows: data\.test must be greater than 0"):
        simulation.start(plan.parse(tree("rows", columns=columns, test=0.0)), Path("runs"))
    simulation.start(plan.parse(tree("rows", columns=columns)), Path("runs"))


def test_public_rows_follow_the_same_rules(package) -> None:
    """They are read by the server, from any source that clients' rows may have."""
    install(package, visits="VISITS")
    rows = "\n".join(["age,again", *(f"{20 + n % 60},{n % 60 > 30}".lower() for n in range(200))])
    Path("rows.csv").write_text(f"{rows}\n")
    columns = {"numeric": ["age"], "label": "again"}
    for source in ("visits", "visits_package:load"):
        public = {"source": source, "share": 0.5}
        job = plan.parse({**tree("rows.csv", columns=columns), "public": public})
        assert list(find_own_parts(job)) == ["public.source"]
        place = simulation.start(job, Path("runs"))
        assert find_own_parts(plan.load(place / "plan.toml"))["public.source"].sha256


def test_a_folder_s_public_rows_run_no_code_without_permission(package) -> None:
    class Stop(simulation.Silence):
        def entry(self, entry: object) -> None:
            if type(entry).__name__ == "Round":
                raise KeyboardInterrupt

    rows = "\n".join(["age,again", *(f"{20 + n % 60},{n % 60 > 30}".lower() for n in range(200))])
    Path("rows.csv").write_text(f"{rows}\n")
    columns = {"numeric": ["age"], "label": "again"}
    public = {"source": "visits_package:load", "share": 0.5}
    job = plan.parse({**tree("rows.csv", columns=columns), "public": public})
    with pytest.raises(KeyboardInterrupt):
        simulation.start(job, Path("runs"), Stop())
    (package / "ran").unlink()
    sys.modules.pop("visits_package")
    with pytest.raises(RunError, match=r"public\.source names Python code"):
        simulation.resume(Path("runs/own-1"))
    assert not ran(package)


def test_an_unknown_name_says_where_others_come_from(package, monkeypatch) -> None:
    install(package, visits="VISITS")
    with pytest.raises(DataError, match=r"got 'visit'\. Did you mean 'visits'\?.* add .*visits"):
        catalogue.get_entry("visit")
    monkeypatch.setattr(extensions, "find_spec", lambda name: None)
    with pytest.raises(DataError, match=r"Some data sets come with `pip install tacit-papers`"):
        catalogue.get_entry("movielens")
    with pytest.raises(PlanError, match=r"Some codecs come with `pip install tacit-papers`"):
        plan.parse({"codec": {"name": "sing"}})
    assert not ran(package)
