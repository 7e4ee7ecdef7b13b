"""Without a schema the server still names what sites seem to code differently, before round one."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.deployment.bodies import StatisticsBody
from tacit.deployment.server.compare_sites import check_sites_agree
from tacit.errors import RunError

REMEDY = "state what the column holds in [schema] of the plan, so that sites map their values or are refused"


def seen(**given: Any) -> StatisticsBody:
    return StatisticsBody(**{"classes": ["0", "1"], "ranges": {}, "categories": {}, **given})


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ({"classes": ["healthy", "sick"]}, {}, "values of the label differ between sites: site 'a' has 'healthy', 'sick', site 'b' has '0', '1'"),
        ({"classes": ["0.0", "1.0"]}, {}, "values of the label differ between sites: site 'a' has '0.0', '1.0', site 'b' has '0', '1'"),
        ({"categories": {"ward": ["1", "2", "3"]}}, {"categories": {"ward": ["1.0", "4"]}}, "values of 'ward' differ between sites"),
        ({"categories": {"sex": ["F", "M"]}}, {"categories": {"sex": ["f", "m", "(missing)"]}}, "values of 'sex' differ between sites"),
        ({"categories": {"smoker": ["yes", "no"]}}, {"categories": {"smoker": ["true", "false"]}}, "values of 'smoker' differ between sites"),
        ({"ranges": {"age": (0.0, 100.0)}}, {"ranges": {"age": (0.0, 36500.0)}}, "units of 'age' seem to differ: it is 0 to 100 at site 'a' and 0 to 36500 at site 'b'"),
        ({"ranges": {"x": (-5000.0, 1.0)}}, {"ranges": {"x": (0.0, 1.0)}}, "units of 'x' seem to differ: it is 0 to 1 at site 'b' and -5000 to 1 at site 'a'"),
    ],
)  # fmt: skip
def test_what_seems_to_be_coded_differently_is_named(one: Any, other: Any, said: str) -> None:
    with pytest.raises(RunError) as caught:
        check_sites_agree("job", {"a": seen(**one), "b": seen(**other), "c": seen(**other)})
    assert said in str(caught.value)
    assert REMEDY in str(caught.value)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"classes": ["a", "b", "c"]}, {"classes": ["a", "b", "d"]}),
        ({"classes": ["a"]}, {"classes": ["b"]}),
        ({"classes": ["a", "A"]}, {"classes": ["a", "b"]}),
        ({"categories": {"town": ["Bonn", "Köln"]}}, {"categories": {"town": ["Paris", "Lyon"]}}),
        ({"ranges": {"age": (0.0, 100.0)}}, {"ranges": {"age": (20.0, 60.0)}}),
        ({"ranges": {"zero": (0.0, 0.0)}}, {"ranges": {"zero": (0.0, 60.0)}}),
        ({"classes": []}, {"classes": []}),
    ],
)
def test_sites_may_have_different_people(one: Any, other: Any) -> None:
    check_sites_agree("job", {"a": seen(**one), "b": seen(**other)})
