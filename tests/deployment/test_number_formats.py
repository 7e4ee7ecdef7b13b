"""Sites agree on how numbers are written: none reads 1.234 as 1234 while another reads it as 1.234,
and none guesses alone.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit import plan as plans
from tacit.deployment.server.job import deploy
from tacit.errors import RunError
from tacit.privacy.policy import PrivacyUnit
from tests.deployment.local_post import model_of, owner, sites_of

PLAIN = ("0.5", "2.25", "7.5", "1.234")


def write_rows(path: Path, cells: tuple[str, ...], people: int = 12) -> Path:
    lines = ["who;lab;outcome"]
    for number in range(people):
        lines += [
            f"{path.stem}{number:02d};{cells[(number + row) % len(cells)]};{'yes' if row % 2 else 'no'}"
            for row in range(4)
        ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def job(**data: object) -> plans.Plan:
    columns = {"client": "who", "numeric": ["lab"], "label": "outcome"}
    tree = {
        "name": "labs", "seed": 1, "data": {"source": "given", "test": 0.0, "columns": columns, **data},
        "features": {"ranges": {"lab": [0.0, 2000.0]}}, "model": {"name": "logistic"}, "local": {"lr": 0.5},
        "codec": {"name": "plain"}, "server": {"rounds": 1},
    }  # fmt: skip
    return plans.parse(tree)


def run(
    folder: Path,
    files: list[tuple[str, ...]],
    said: dict[int, dict[str, object]] | None = None,
    **data: object,
):
    """Return a run between sites whose files have such cells, and what each site logged; `said` is
    what owners say in site.toml.
    """
    logs: list[list[str]] = [[] for _ in files]
    owners = [
        owner(
            name, write_rows(folder / f"{name}.csv", cells), folder / name,
            **{"tell": log.append, "unit": PrivacyUnit(client="who"), **(said or {}).get(place, {})},
        )
        for place, (name, cells, log) in enumerate(zip("abc", files, logs, strict=False))
    ]  # fmt: skip
    place = deploy(
        job(**data), sites_of(owners), folder / "runs", simulated_noise=True, identity="labs"
    )
    return place, logs


def with_comma(cells: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(cell.replace(".", ",") for cell in cells)


def test_sites_with_either_mark_end_in_the_same_model_where_every_cell_can_be_read_in_one_way(
    tmp_path: Path,
) -> None:
    clear = PLAIN[:3]
    places = []
    for name, files in (("one", [clear, clear]), ("two", [clear, with_comma(clear)])):
        (tmp_path / name).mkdir()
        places.append(run(tmp_path / name, files)[0])
    assert model_of(places[0]) == model_of(places[1])


def test_a_file_that_the_agreed_mark_would_misread_is_refused(tmp_path: Path) -> None:
    logs: list[str] = []
    with pytest.raises(
        RunError,
        match=r"sites write the numbers of 'lab' differently.*each owner sets decimal in site.toml",
    ):
        run(tmp_path, [PLAIN, with_comma(PLAIN), PLAIN], {1: {"tell": logs.append}})
    assert logs[-1].endswith(
        " refused: column 'lab': the run agreed on a decimal point, this file seems to have a"
        " decimal comma, and some cells look like 1,234 or 1.234, which would become other "
        "numbers. Check the file, and set decimal in site.toml to 'point' or 'comma', as the file "
        "has it"
    )


def test_with_the_owners_word_the_same_sites_train_as_if_all_files_were_written_alike(
    tmp_path: Path,
) -> None:
    for name in ("alike", "mixed"):
        (tmp_path / name).mkdir()
    alike, _ = run(tmp_path / "alike", [PLAIN, PLAIN])
    mixed, _ = run(tmp_path / "mixed", [PLAIN, with_comma(PLAIN)], {1: {"decimal": "comma"}})
    assert model_of(alike) == model_of(mixed)


def test_a_plan_may_say_the_mark_but_not_against_a_file(tmp_path: Path) -> None:
    logs: list[str] = []
    for name in ("fits", "not"):
        (tmp_path / name).mkdir()
    place, told = run(tmp_path / "fits", [("1,234", "5,678"), with_comma(PLAIN)], decimal="comma")
    assert json.loads((place / "model.json").read_text())["habits"] == {"decimal": {"lab": "comma"}}
    assert not any("is written with" in line for line in told[0]), (
        "nothing is told that the plan says"
    )
    with pytest.raises(RunError, match="takes part"):
        run(
            tmp_path / "not",
            [with_comma(PLAIN), PLAIN],
            {1: {"tell": logs.append}},
            decimal="comma",
        )
    assert "the plan has data.decimal = 'comma', but this file seems to use" in logs[-1]


def test_what_is_told_is_a_word_per_column_and_only_what_enough_clients_show(
    tmp_path: Path,
) -> None:
    _, logs = run(tmp_path, [PLAIN[:3], with_comma(PLAIN[:3])])
    assert any("that 'lab' is written with a decimal comma" in line for line in logs[1])
    assert not any(
        cell in line for line in (*logs[0], *logs[1]) for cell in ("2.25", "2,25", "7,5")
    )
