"""Every key of a plan is read by the code that carries the plan out, and every refusal has a bad plan."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from tacit import plan
from tacit.errors import PlanError
from tacit.plan.kinds import list_fields, tables_in
from tests.plan.test_bad_plans import BAD

PLANS = Path(plan.__file__).parent
SOURCES = PLANS.parent

READ_BY_CHECKS_ONLY = set[str]()
"""`local.method` names what `local.proximal` does; training reads that number. Requests of pages have a
`method` too, so the name counts as read.
"""

REFUSED_ELSEWHERE = {
    "list_missing_test_rows",  # a run without test rows: tests/plan/test_plan.py
    "presets/privacy.py",  # tables made in Python: tests/plan/test_privacy.py
}


def tables(table: Any) -> Iterator[Any]:
    yield table
    for field in list_fields(table).values():
        for inner in tables_in(field.annotation).values():
            yield from tables(inner)


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    return (one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef))


def lists_problems(function: ast.FunctionDef) -> bool:
    return function.returns is not None and ast.unparse(function.returns) == "list[str]"


def attributes_read() -> set[str]:
    """Names of all attributes that the package reads, except in the checks of plans."""
    found = set[str]()
    for path in SOURCES.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        checks = {
            id(node)
            for function in functions(tree)
            if path.is_relative_to(PLANS) and lists_problems(function)
            for node in ast.walk(function)
        }
        found |= {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Load)
            and id(node) not in checks
        }
    return found


def test_every_key_is_read() -> None:
    """A key that nobody reads is a promise that nobody keeps. Keys of one name count together."""
    read = attributes_read()
    keys = {f"{table.__name__}.{key}" for table in tables(plan.Plan) for key in list_fields(table)}
    unread = {key for key in keys if key.rpartition(".")[2] not in read}
    assert unread == READ_BY_CHECKS_ONLY, "read the key where the plan is carried out, or remove it"


def refusals() -> dict[tuple[str, int], str]:
    """Every statement of a plan's checks that adds a sentence, by file and line."""
    found = dict[tuple[str, int], str]()
    for path in sorted(PLANS.rglob("*.py")):
        where = path.relative_to(PLANS).as_posix()
        for function in functions(ast.parse(path.read_text(encoding="utf-8"))):
            if lists_problems(function) and not {function.name, where} & REFUSED_ELSEWHERE:
                for node in ast.walk(function):
                    if _adds_sentence(node):
                        found[str(path), node.lineno] = f"{where}: {ast.unparse(node)}"
    return found


def _adds_sentence(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(ast.Name("found"), "append"))):
            return True
        case ast.Return(value=ast.List(elts=[ast.Constant() | ast.JoinedStr(), *_])):
            return True
        case _:
            return False


@pytest.mark.skipif(sys.gettrace() is not None, reason="another tracer counts lines")
def test_every_refusal_has_a_bad_plan() -> None:
    """A check that no bad plan reaches may be unreachable, or refuse a good plan."""
    reached = set[tuple[str, int]]()

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(str(PLANS)):
            return None
        reached.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    for path in BAD:
        sys.settrace(trace)
        try:
            with pytest.raises(PlanError):
                plan.load(path)
        finally:
            sys.settrace(None)
    missing = [sentence for place, sentence in refusals().items() if place not in reached]
    assert missing == [], "add a plan to tests/plan/bad/ that is refused for this reason"
