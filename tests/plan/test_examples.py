"""The example plans that come with Tacit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit import plan
from tacit.errors import PlanError
from tacit.plan.presets.examples import list_examples, read_example

NAMES = sorted(path.stem for path in Path(plan.__file__).parents[1].glob("examples/*.toml"))


def test_each_example_is_listed_with_one_sentence() -> None:
    listed = list_examples()
    assert list(listed) == NAMES
    assert all(20 < len(said) < 140 and said.count(". ") == 0 for said in listed.values())


@pytest.mark.parametrize("name", NAMES)
def test_an_example_names_the_file_it_is_written_to(name: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(read_example(name, "mine.toml"), encoding="utf-8")
    assert plan.load(file).name
    assert "examples/" not in file.read_text(encoding="utf-8")


def test_an_unknown_example_gets_the_list_and_the_closest_name() -> None:
    with pytest.raises(PlanError, match=r"choose one of all_five, .*Did you mean 'newsgroups'"):
        read_example("newsgroup", "plan.toml")
