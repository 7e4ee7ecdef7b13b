"""A hostile record's numbers do not stop the scripts of a page."""

from __future__ import annotations

import json
import math

from tacit.ui.json_text import encode_json
from tacit.ui.rendering import load_templates


def test_numbers_that_are_not_finite_are_null() -> None:
    hostile = {"loss": math.nan, "points": [1.5, -math.inf, (math.inf, "NaN")], "rounds": 3}
    assert json.loads(encode_json(hostile)) == {
        "loss": None,
        "points": [1.5, None, [None, "NaN"]],
        "rounds": 3,
    }


def test_charts_in_pages_are_json() -> None:
    page = load_templates().from_string("{{ charts | tojson }}")
    assert page.render(charts={"y": [math.nan, 0.5], "x": "</script>"}) == (
        '{"y": [null, 0.5], "x": "\\u003c/script\\u003e"}'
    )
