"""What a server gains from the schema that it chooses: nothing that the owner did not accept, and no bit of one person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit import plan as plans
from tacit.deployment.site.owner_site import OwnerSite
from tacit.deployment.site.rows.held_out import HeldOut
from tacit.deployment.site.rows.site_rows import read_rows
from tacit.privacy.policy import PrivacyUnit
from tacit.privacy.policy.policy import parse_policy
from tacit.randomness import Draws
from tests.deployment.hostile import HostileServer
from tests.deployment.local_post import GENEROUS, owner

POLICY = GENEROUS.replace("min_clients_per_value = 1", "min_clients_per_value = 10")
AGE = {"type": "integer", "minimum": 0, "maximum": 120}
OUTCOME = {"type": "string", "enum": ["no", "yes"]}


def write(path: Path, wrong: int = 0, people: int = 40, cell: str = "4321") -> Path:
    """Two rows for each person; the first `wrong` people have an age that does not fit."""
    lines = [
        f"p{person},{cell if person < wrong else 20 + person},{['no', 'yes'][(person + row) % 2]}"
        for person in range(people)
        for row in range(2)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(["patient,age,readmitted", *lines, ""]))
    return path


def job(schema: dict[str, Any] | None = None) -> plans.Plan:
    columns = {"client": "patient", "numeric": ["age"], "label": "readmitted"}
    return plans.parse(
        {
            "seed": 1, "data": {"source": "given", "test": 0.2, "decimal": "point", "columns": columns},
            "schema": {"columns": {"age": AGE, "readmitted": OUTCOME}} if schema is None else schema,
            "features": {"numeric": "minmax"}, "local": {"lr": 0.5, "batches": 1}, "codec": {"name": "plain"}, "server": {"rounds": 2},
        }
    )  # fmt: skip


def hospital(folder: Path, policy: str = POLICY, wrong: int = 0, **more: Any) -> OwnerSite:
    file = write(folder / "rows.csv", wrong, **more)
    return OwnerSite(owner("a", file, folder / "a", policy, unit=PrivacyUnit(client="patient")))


def test_a_schema_that_the_owner_did_not_accept_is_refused_before_a_row_is_read(
    tmp_path: Path,
) -> None:
    """Otherwise a server would find anybody's age by schemas with one maximum after another."""
    own = plans.hash_schema(job().schema or plans.Schema())
    accepted = POLICY.replace('schemas = ["*"]', f'schemas = ["{own}"]')
    site = hospital(tmp_path, accepted)
    assert HostileServer(site, job(), "own").open()
    (tmp_path / "rows.csv").unlink()
    for maximum in (119, 121):
        other = job({"columns": {"age": {**AGE, "maximum": maximum}, "readmitted": OUTCOME}})
        server = HostileServer(site, other, f"job-{maximum}")
        assert server.open() is None
        assert (server.status, server.rule) == ("policy", "allow.schemas")


def test_without_a_word_of_the_owner_no_schema_is_applied(tmp_path: Path) -> None:
    server = HostileServer(hospital(tmp_path, POLICY.replace('schemas = ["*"]\n', "")), job())
    assert server.open() is None
    assert server.rule == "allow.schemas"


@pytest.mark.parametrize("wrong", [1, 9])
def test_few_patients_decide_no_refusal(tmp_path: Path, wrong: int) -> None:
    server = HostileServer(hospital(tmp_path, wrong=wrong), job())
    opened = server.open()
    assert opened
    assert 0 < opened.clients <= 40 - wrong


def test_a_refusal_names_the_column_and_the_kind_and_no_cell_or_count(tmp_path: Path) -> None:
    replies = set()
    for wrong in (10, 17):
        for cell in ("4321", "99999"):
            site = hospital(tmp_path / f"{wrong}-{cell}", wrong=wrong, cell=cell)
            server = HostileServer(site, job())
            assert server.open() is None
            replies.add((server.status, server.rule))
    assert replies == {("data", "age out of range")}


def test_a_schema_cannot_touch_the_names_of_clients(tmp_path: Path) -> None:
    """A server that maps names joins two people's budgets; one that calls a name missing learns whether it is there."""
    text = (
        plans.to_toml(job())
        + '\n[schema.columns.patient]\ntype = "string"\nmissing_values = ["p3"]\n'
    )
    server = HostileServer(hospital(tmp_path), job())
    server.text = text
    assert server.open() is None
    assert server.status == "plan"


def test_terms_cannot_change_what_the_schema_states(tmp_path: Path) -> None:
    """A server that narrows a range between two values would see who is on either side of it."""
    sent = []
    for number, changes in enumerate(
        ({}, {"ranges": {"age": (29.0, 29.5)}, "classes": ["x", "y"]})
    ):
        server = HostileServer(hospital(tmp_path / str(number)), job())
        opened = server.open()
        assert opened
        assert (opened.seen.classes, opened.seen.ranges, opened.seen.missing) == ([], {}, [])
        seen = type(opened.seen)(**{"classes": [], "ranges": {}, "categories": {}, **changes})
        assert server.begin(opened, seen=seen)
        response = server.train()
        assert response
        sent.append([bytes(payload) for _, payload in response.frames])
    assert sent[0] == sent[1]


def test_which_rows_are_held_out_does_not_depend_on_the_schema(tmp_path: Path) -> None:
    """A server that could change what is held out would get updates with and without a row."""
    made = hospital(tmp_path).owner
    marks = []
    mapped = {"type": "string", "enum": ["0", "1"], "mapping": {"no": "0", "yes": "1"}}
    for schema in ({"columns": {"age": AGE}}, {"columns": {"age": AGE, "readmitted": mapped}}):
        held = HeldOut(made.folder, made.secret)
        rows = read_rows(job(schema), made, parse_policy(POLICY).limits, Draws(bytes(32)), held)
        assert rows.chosen is not None
        marks.append(rows.chosen)
    np.testing.assert_array_equal(marks[0].test, marks[1].test)
    np.testing.assert_array_equal(marks[0].train, marks[1].train)


def test_a_schema_with_more_values_than_the_owner_allows_is_refused(tmp_path: Path) -> None:
    few = POLICY.replace("max_values_per_column = 100000", "max_values_per_column = 2")
    enum = {"columns": {"readmitted": {"type": "string", "enum": ["no", "yes", "maybe"]}}}
    server = HostileServer(hospital(tmp_path, few), job(enum))
    assert server.open() is None
    assert server.rule == "limits.max_values_per_column"


def test_an_accepted_schema_has_one_meaning(tmp_path: Path) -> None:
    """Two orders of a mapping had one hash, and the last of two spellings of a cell decided what it means."""
    for order in (("no", " no"), (" no", "no")):
        cells = {cell: str(number) for number, cell in enumerate(order)} | {"yes": "1"}
        mapping = ", ".join(f'"{cell}" = "{value}"' for cell, value in cells.items())
        column = f'type = "string"\nenum = ["0", "1"]\nmapping = {{ {mapping} }}\n'
        server = HostileServer(hospital(tmp_path / repr(order)), job())
        before = plans.to_toml(job()).partition("[schema")[0]
        server.text = f"{before}[schema.columns.readmitted]\n{column}"
        assert server.open() is None
        assert server.status == "plan"
