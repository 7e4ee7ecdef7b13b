"""Each bad plan gives one message that says what its first lines expect, before any data is read."""

from pathlib import Path

import pytest

from tacit import plan
from tacit.errors import PlanError

BAD = sorted(Path(__file__).with_name("bad").glob("*.toml"))


def expected(path: Path) -> list[str]:
    lines = path.read_bytes().decode("utf-8", "replace").splitlines()
    return [line.removeprefix("# expect: ") for line in lines if line.startswith("# expect: ")]


def test_there_are_at_least_thirty() -> None:
    assert len(BAD) >= 30


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_bad_plan(path) -> None:
    with pytest.raises(PlanError) as caught:
        plan.load(path)
    message = str(caught.value)
    for phrase in expected(path):
        assert phrase in message
    assert str(path) in message
    problems = [line for line in message.splitlines() if line.startswith("  ")]
    if path.stem not in ("many_at_once", "not_text") and "is not valid TOML" not in message:
        assert len(problems) == 1, message
