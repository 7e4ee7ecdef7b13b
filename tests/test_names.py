"""One class name has one meaning: a name that two modules define stands here with a reason, or fails."""

from __future__ import annotations

import ast
from collections import defaultdict
from pathlib import Path

import tacit

SOURCES = Path(tacit.__file__).parent
SAME_NAME: dict[str, str] = {}
"""Class names that several modules may define, and why."""
MOST_MODULES = 16
"""Modules per folder, `__init__` included."""


def find_class_names(sources: Path) -> dict[str, list[str]]:
    """The modules that define each class name, also inside functions."""
    found = defaultdict(list)
    for path in sorted(sources.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(path.relative_to(sources).as_posix())
    return found


def test_a_class_name_has_one_meaning() -> None:
    several = {name: paths for name, paths in find_class_names(SOURCES).items() if len(paths) > 1}
    assert {name: paths for name, paths in several.items() if name not in SAME_NAME} == {}
    assert set(SAME_NAME) <= set(several), "reasons for names that are no longer shared"


def test_two_classes_of_one_name_are_found(tmp_path: Path) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("class Claim:\n    pass\n")
    assert find_class_names(tmp_path) == {"Claim": ["a.py", "b.py"]}


def test_folders_are_small() -> None:
    folders = [path for path in SOURCES.rglob("*") if path.is_dir()]
    sizes = {folder: len(list(folder.glob("*.py"))) for folder in [SOURCES, *folders]}
    assert {folder: size for folder, size in sizes.items() if size > MOST_MODULES} == {}
