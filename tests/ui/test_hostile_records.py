"""Records whose values are of kinds that no run writes: they hide no other run, of `tacit ui` or of a server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tacit.ui.runs.pages import build_runs_pages
from tacit.ui.server.pages import build_server_pages
from tests.report import made_up
from tests.ui.served import build_client
from tests.ui.server.test_server_pages import write_coordinated

HUGE = 10**400
ATTACKS: dict[str, tuple[str, tuple[str, ...], Any]] = {
    "a plan that is a number": ("started", ("plan",), HUGE),
    "baselines that are a number": ("started", ("plan", "baselines"), 7),
    "baselines that are lists": ("started", ("plan", "baselines"), [[[]]]),
    "a table that is text": ("started", ("plan", "server"), "x"),
    "rounds that are a list": ("started", ("plan", "server", "rounds"), [1]),
    "settings that are text": ("started", ("plan", "local"), "x"),
    "rows that are text": ("prepared", ("rows_train",), "x"),
    "clients beyond every number": ("prepared", ("rows_train",), HUGE),
    "classes that are a number": ("prepared", ("classes",), 1e308),
    "totals that are no list": ("spent", ("totals",), {"a": 1}),
    "epsilon that is text": ("spent", ("totals", 0, "epsilon"), "x"),  # type: ignore[dict-item]
    "epsilon beyond every number": ("spent", ("totals", 0, "epsilon"), HUGE),  # type: ignore[dict-item]
    "rounds that are text": ("finished", ("rounds",), "1e999"),
    "rounds beyond every number": ("finished", ("rounds",), HUGE),
    "metrics that are text": ("finished", ("metrics",), "\u202e<b>"),
    "accuracy that is a list": ("finished", ("metrics", "accuracy"), [[]]),
    "bytes that are a table": ("finished", ("bytes_up",), {"a": 1}),
    "bytes beyond every number": ("finished", ("bytes_up",), HUGE),
    "seconds that are text": ("finished", ("seconds",), "1e999"),
}


def spoil(folder: Path, kind: str, path: tuple[Any, ...], value: Any) -> None:
    """Change one value in every entry of a kind."""
    file, lines = folder / "record.jsonl", []
    for line in file.read_bytes().splitlines():
        entry = json.loads(line)
        if entry["kind"] == kind:
            place = entry
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
        lines.append(json.dumps(entry))
    file.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_record_of_wrong_kinds_hides_no_other_run(tmp_path: Path, attack: str) -> None:
    made_up.folder(tmp_path, made_up.record(rounds=3), "good-1")
    spoil(made_up.folder(tmp_path, made_up.record(rounds=3), "evil-1"), *ATTACKS[attack])
    client, _, _ = build_client(build_runs_pages(tmp_path, None))
    for path in ("/", "/searches", "/runs/good-1"):
        answer = client.get(path)
        assert answer.status_code == 200, path
        assert path == "/searches" or "good-1" in answer.text
    for path in ("/runs/evil-1", "/compare?run=evil-1&run=good-1"):
        assert client.get(path).status_code in (200, 400), path


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_coordinator_blinds_no_operator(tmp_path: Path, attack: str) -> None:
    """The server keeps the record that a coordinator sends; it may say anything."""
    server = tmp_path / "server"
    server.mkdir()
    (server / "sites.json").write_text("{}")
    write_coordinated(server, "good-1")
    write_coordinated(server, "evil-1")
    spoil(server / "coordinated_runs" / "evil-1", *ATTACKS[attack])
    own = made_up.folder(tmp_path / "runs", made_up.record(rounds=3), "own-1")
    (own / "deployment.json").write_text("{}")
    spoil(own, *ATTACKS[attack])
    pages = build_server_pages(server, tmp_path / "runs", metrics=True)
    client, _, _ = build_client(pages)
    answer = client.get("/")
    assert answer.status_code == 200
    assert "good-1" in answer.text
    assert client.get("/metrics").status_code == 200
