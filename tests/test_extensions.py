"""References to parts of a user's own: strict text, found and hashed without running anything."""

from __future__ import annotations

import copy
import hashlib
from pathlib import Path

import pytest

from tacit import extensions
from tacit.errors import PlanError
from tacit.extensions import PARTS, Reference
from tacit.plan import Plan, find_own_parts, pin_own_parts

HASH = "0" * 64
CODE = "raise AssertionError('it was imported')\n"
WRONG = [
    "", ":", "a", "a:", ":b", "a:b:c", "a b:c", "a..b:c", ".a:b", "a.:b", "../a:b", "a/b:c", "a:b.c", "a:__class__", "a:_b",
    "a:b@", f"a:b@{HASH}", f"a:b@sha256:{HASH[1:]}", f"a:b@sha256:{HASH.replace('0', 'G')}", "a:b\n", "ä:b", "1a:b", "a:1b",
    "os:system", "os.path:join", "builtins:eval", "a" * 300 + ":b",
]  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_text_that_is_no_reference_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"write it as package.module:name|standard library"):
        Reference(text)


def test_a_reference_says_where_its_code_is() -> None:
    one = Reference(f"mine.rules:half@sha256:{HASH}")
    assert (one.path, one.module, one.attribute, one.sha256) == (
        "mine.rules:half", "mine.rules", "half", HASH,
    )  # fmt: skip
    assert Reference("mine.rules:half").sha256 == ""
    assert isinstance(copy.deepcopy(one), Reference)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed distribution with one entry point per group, which cannot be imported."""
    (tmp_path / "an_own_part.py").write_text(CODE)
    facts = tmp_path / "an_own_part-1.0.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: an-own-part\nVersion: 1.0\n")
    points = [f"[tacit.{part}]\nmine = an_own_part:{part}\n" for part in PARTS]
    (facts / "entry_points.txt").write_text("\n".join(points))
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("part", PARTS)
def test_an_entry_point_stands_for_a_reference(part: extensions.Part, package: Path) -> None:
    assert extensions.resolve(part, "mine") == Reference(f"an_own_part:{part}")
    assert extensions.resolve(part, "x.y:z") == Reference("x.y:z")
    assert extensions.resolve(part, "other") is None


def test_two_packages_with_one_name_are_refused(package: Path) -> None:
    other = package / "another-1.0.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: another\nVersion: 1.0\n")
    (other / "entry_points.txt").write_text("[tacit.rules]\nmine = another:rule\n")
    with pytest.raises(PlanError, match=r"two installed packages have an entry point 'mine'"):
        extensions.resolve("rules", "mine")


def test_a_plan_names_a_part_by_its_entry_point_and_keeps_the_reference(package: Path) -> None:
    from tacit.plan import parse

    plan = parse({"model": {"name": "mine"}, "codec": {"name": "plain"}})
    assert find_own_parts(plan) == {"model.name": Reference("an_own_part:models")}
    pinned = find_own_parts(pin_own_parts(plan))["model.name"]
    assert pinned.sha256 == hashlib.sha256(CODE.encode()).hexdigest()
    assert find_own_parts(Plan()) == {}
    assert pin_own_parts(Plan()) == Plan()


def test_a_pin_is_kept_and_compared_with_the_code_that_is_here(package: Path) -> None:
    other = Reference(f"an_own_part:x@sha256:{HASH}")
    assert extensions.pin(other) == other
    assert extensions.pin_here(other).sha256 == hashlib.sha256(CODE.encode()).hexdigest()
    with pytest.raises(PlanError, match="is not the one that was recorded"):
        extensions.load("server.rule", other)


def test_what_is_missing_is_named(package: Path) -> None:
    with pytest.raises(
        PlanError, match=r"server.rule = 'no_such.rules:x' cannot be imported.*install its package"
    ):
        extensions.load("server.rule", Reference("no_such.rules:x"))
    (package / "an_own_part.py").write_text("import no_such_library\n")
    with pytest.raises(PlanError, match=r"No module named 'no_such_library'.*install what it"):
        extensions.load("server.rule", Reference("an_own_part:x"))
    (package / "an_own_part.py").write_text("y = 1\n")
    with pytest.raises(PlanError, match=r"has no 'x'; write it there"):
        extensions.load("server.rule", Reference("an_own_part:x"))
