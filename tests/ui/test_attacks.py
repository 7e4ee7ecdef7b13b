"""Attacks on the pages over runs, by names, files, records and floods. Those on the log-in are in
`test_access.py`.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.requests import Request

from tacit.errors import PlanError, RunError
from tacit.runs.record import Audited, Refused, Started, Writer
from tacit.ui.events import MAX_PER_SESSION, EventStreams
from tacit.ui.jobs.plan_files import find_plan_file
from tacit.ui.jobs.workers import stop_worker
from tacit.ui.records import index as indexing
from tacit.ui.records.index import RecordIndex
from tacit.ui.records.safe_files import open_inside
from tacit.ui.runs.pages import build_runs_pages
from tests.report import made_up
from tests.ui.served import FORM, build_client

EVIL = (
    "\"'><script>alert(1)</script><img src=x onerror=alert(1)>{{7*7}}<a href=javascript:alert(1)>"
)
SECRET = "a secret of another folder"


def write_hostile_run(root: Path) -> str:
    """A run whose every name is an attack; return the name of its folder."""
    name = "x<script>alert(1)<-script>"
    started, prepared, *rest = made_up.record(rounds=3)
    assert isinstance(started, Started)
    plan = {**started.plan, "name": EVIL, "baselines": [EVIL], "selected_by": EVIL}
    plan["data"] = {**started.plan["data"], "source": EVIL}
    plan["data"]["columns"] = {"label": EVIL, "text": [EVIL], "numeric": [EVIL]}
    entries = [
        replace(started, plan=plan, versions={EVIL: EVIL}),
        replace(prepared, source=EVIL, classes=[EVIL, "b", "c"], leaks=[EVIL]),
        *rest,
        Refused(arm="run", round_no=1, exchange=EVIL, sender=EVIL, reason=EVIL),
        replace(made_up.round_of("run", 1, 3, 0.6, 10), arm=EVIL),
        Audited(name=EVIL, findings={"sentences": [EVIL]}),
    ]
    folder = made_up.folder(root, entries, name)
    (folder / "plan.toml").write_text(f"name = '''{EVIL}'''\n")
    return name


def list_paths(name: str) -> list[str]:
    from urllib.parse import quote

    run = f"/runs/{quote(name, safe='')}"
    return ["/", run, f"{run}/audit", f"{run}/leaves", f"/compare?run={quote(name)}", "/plans"]


def test_names_in_records_plans_and_folders_are_text_on_every_page(tmp_path: Path) -> None:
    name = write_hostile_run(tmp_path / "runs")
    plans = tmp_path / "plans"
    plans.mkdir()
    (plans / "x<script>alert(1)<-script>.toml").write_text("")
    client, _, _ = build_client(build_runs_pages(tmp_path / "runs", plans))
    for path in list_paths(name):
        answer = client.get(path)
        assert answer.status_code == 200, path
        for wrong in ("<script>alert", "<img", "<a href=javascript", "49<", "onerror=alert(1)>{"):
            assert wrong not in answer.text, (path, wrong)
    report = client.get(f"{list_paths(name)[1]}/report")
    assert report.status_code == 200
    assert "<script>alert" not in report.text
    assert '"' not in report.headers["content-disposition"].partition('filename="')[2][:-1]


@pytest.mark.parametrize(
    "name",
    [
        *("..%2fsecret", "%2e%2e", "%2e%2e%2fsecret", "a%00b", ".hidden"),
        *("%2f", "runs%2f..%2f..%2fsecret", "a%0ab", "%ff%fe", "a" * 5000),
    ],
    ids=range(10),
)
def test_no_path_leads_out_of_the_runs_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "plan.toml").write_text(SECRET)
    (tmp_path / "runs" / ".hidden").mkdir(parents=True)
    (tmp_path / "runs" / ".hidden" / "plan.toml").write_text(SECRET)
    client, _, _ = build_client(build_runs_pages(tmp_path / "runs", tmp_path / "runs"))
    for page in ("", "/report", "/audit", "/leaves", "/events"):
        answer = client.get(f"/runs/{name}{page}")
        assert answer.status_code in (303, 400, 404), page
        assert SECRET not in answer.text
    assert client.get(f"/compare?run={name}").status_code in (400, 404)
    started = client.post("/plans/start", headers=FORM, data={"plan": f"../{name}.toml"})
    assert started.status_code == 400


def test_only_a_plan_of_the_plans_folder_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[object] = []
    monkeypatch.setattr("tacit.ui.jobs.children._start", lambda *given: started.append(given))
    plans, outside = tmp_path / "plans", tmp_path / "outside.toml"
    (plans / "below").mkdir(parents=True)
    for path in (outside, plans / ".hidden.toml", plans / "below" / "one.toml", plans / "one.txt"):
        path.write_text("")
    (plans / "link.toml").symlink_to(outside)
    (plans / "folder.toml").mkdir()
    client, _, _ = build_client(build_runs_pages(tmp_path / "runs", plans))
    names = ["", str(outside), "../outside.toml", "below/one.toml", "./outside.toml", "one.txt"]
    for name in [*names, ".hidden.toml", "link.toml", "folder.toml", "link.toml\0.toml", "*.toml"]:
        answer = client.post("/plans/start", headers=FORM, data={"plan": name})
        assert answer.status_code == 400, name
    without, _, _ = build_client(build_runs_pages(tmp_path / "runs"))
    assert without.post("/plans/start", headers=FORM, data={"plan": "a.toml"}).status_code == 400
    assert started == []


def test_symbolic_links_are_not_followed(tmp_path: Path) -> None:
    outside, runs = tmp_path / "outside", tmp_path / "runs"
    made_up.folder(outside, made_up.record(rounds=2), "other")
    (outside / "other" / "plan.toml").write_text(SECRET)
    runs.mkdir()
    (runs / "whole").symlink_to(outside / "other")
    inner = runs / "inner"
    inner.mkdir()
    for file in ("record.jsonl", "plan.toml", "lock"):
        (inner / file).symlink_to(outside / "other" / file)
    client, _, _ = build_client(build_runs_pages(runs, runs))
    assert "whole" not in client.get("/").text
    assert client.get("/runs/whole").status_code == 404
    for page in ("", "/report", "/audit", "/leaves"):
        answer = client.get(f"/runs/inner{page}")
        assert SECRET not in answer.text
        assert "64.5 %" not in answer.text
    (runs / "plan.toml").symlink_to(outside / "other" / "plan.toml")
    assert client.post("/plans/start", headers=FORM, data={"plan": "plan.toml"}).status_code == 400


def test_a_pipe_in_place_of_a_record_blocks_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "pipe-1"
    folder.mkdir()
    (folder / "plan.toml").write_text("")
    os.mkfifo(folder / "record.jsonl")
    os.mkfifo(folder / "lock")
    client, _, _ = build_client(build_runs_pages(tmp_path))
    assert client.get("/runs/pipe-1").status_code == 200
    assert client.get("/").status_code == 200
    with pytest.raises(FileNotFoundError), open_inside(tmp_path, "pipe-1", "record.jsonl"):
        pass


@pytest.mark.slow
def test_a_record_of_a_million_rounds_takes_bounded_memory(tmp_path: Path) -> None:
    folder = tmp_path / "long-1"
    folder.mkdir()
    line = json.dumps(
        {"kind": "round", "arm": "run", "round_no": 7, "rounds": 1_000_000, "cohort": 3}
        | {"seconds": 0.1, "bytes_up": 9, "bytes_down": 3, "metrics": {"accuracy": 0.5}}
    )
    with (folder / "record.jsonl").open("w") as file:
        for _ in range(100):
            file.write(10_000 * (line + "\n"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    index = RecordIndex(tmp_path, "long-1")
    index.update()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert index.entries == 1_000_000
    assert index.arms["run"].bytes_up == 9_000_000
    assert len(index.arms["run"].every.points()) < 2000
    assert grown < 200_000, f"{grown} kB"


def test_hostile_lines_change_no_page_and_stop_no_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made_up.folder(tmp_path, made_up.record(rounds=2), "odd-1")
    lines = [
        '{"kind": "round", "arm": "run", "round_no": 1e999}',
        '{"kind": "round", "arm": "run", "round_no": -1, "rounds": 1, "cohort": 1, "seconds": 1, "bytes_up": 1, "bytes_down": 1}',
        '{"kind": "round", "arm": "run", "round_no": 99999999999999999999999, "rounds": 1}',
        '{"kind": "spent", "arm": "run", "round_no": 2, "totals": [{"epsilon": "x"}]}',
        '{"kind": "spent", "arm": "run", "round_no": 3, "totals": 5}',
        '{"kind": "released", "arm": "run", "round_no": "x"}',
        '{"kind": "resumed", "arm": "run", "round_no": 1, "length": -5}',
        '{"kind": "resumed", "arm": "run", "round_no": 1, "length": 10e18}',
        '{"kind": "finished"}',
        "[" * 100_000,
        "no json",
        "\x00\x01",
    ]
    with (folder / "record.jsonl").open("a") as file:
        file.write("\n".join(lines) + "\n")
    client, _, _ = build_client(build_runs_pages(tmp_path))
    for path in ("/", "/runs/odd-1", "/compare?run=odd-1", "/searches"):
        assert client.get(path).status_code == 200, path
    assert "cannot be read" in client.get("/runs/odd-1").text
    monkeypatch.setattr(indexing, "MAX_LINE", 1 << 16)
    with (folder / "record.jsonl").open("a") as file:
        file.write("y" * (5 << 20))
    assert "too long" in client.get("/runs/odd-1").text


def test_many_resumes_do_not_read_a_record_again_and_again(tmp_path: Path) -> None:
    folder = made_up.folder(tmp_path, made_up.record(rounds=5), "again-1")
    writer = Writer(folder / "record.jsonl")
    for number in range(2000):
        writer._file.write(
            b'{"kind": "resumed", "arm": "run", "round_no": 1, "length": %d}\n' % (number * 10)
        )
    writer.close()
    index = RecordIndex(tmp_path, "again-1")
    reads = []
    add = index._add
    index._add = lambda block: (reads.append(1), add(block))[1]  # type: ignore[method-assign]
    index.update()
    assert len(reads) <= 2


def test_streams_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = EventStreams()
    request = Request({"type": "http", "method": "GET", "path": "/", "headers": []})

    async def flood() -> list[int]:
        opened = []
        for _ in range(MAX_PER_SESSION + 5):
            answer = streams.open(request, "session", lambda: None)
            if answer.status_code == 200:
                await anext(answer.body_iterator)  # type: ignore[attr-defined]
                opened.append(answer)
        return [answer.status_code for answer in opened]

    assert asyncio.run(flood()) == [200] * MAX_PER_SESSION


def test_streams_that_are_opened_at_once_are_bounded() -> None:
    streams = EventStreams()
    request = Request({"type": "http", "method": "GET", "path": "/", "headers": []})

    async def flood() -> list[str]:
        answers = [streams.open(request, "session", lambda: None) for _ in range(100)]
        return [await anext(one.body_iterator) for one in answers]  # type: ignore[attr-defined]

    assert asyncio.run(flood()).count("retry: 2000\n\n") == MAX_PER_SESSION


def test_a_stream_ends_with_its_session() -> None:
    """A caller that holds a stream open reads nothing after the owner has logged out."""
    streams, is_open = EventStreams(), [True]

    async def receive() -> dict[str, str]:
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    request = Request({"type": "http", "method": "GET", "path": "/", "headers": []}, receive)

    async def listen() -> list[str]:
        seen = []
        change = {"parts": {"a": "secret"}}
        answer = streams.open(request, "session", lambda: change, 0.01, is_open=lambda: is_open[0])
        async for event in answer.body_iterator:  # type: ignore[attr-defined]
            seen.append(event)
            is_open[0] = False
        return seen

    assert asyncio.run(asyncio.wait_for(listen(), 30)) == ["retry: 2000\n\n"]


def test_a_forged_lock_file_stops_no_other_process(tmp_path: Path) -> None:
    folder = made_up.folder(tmp_path, made_up.record(rounds=2, stop=1), "forged-1")
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        for text in (str(other.pid), "1", "-1", "0", "99999999999", str(os.getpid()), "x"):
            (folder / "lock").write_text(f"{text}\n")
            with pytest.raises(RunError):
                stop_worker(tmp_path, "forged-1")
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_names_are_no_options_of_commands(tmp_path: Path) -> None:
    made_up.folder(tmp_path / "runs", made_up.record(rounds=2, stop=1), "--abandon")
    plans = tmp_path / "plans"
    plans.mkdir()
    (plans / "--runs=x.toml").write_text("")
    client, _, _ = build_client(build_runs_pages(tmp_path / "runs", plans))
    page = client.get("/runs/--abandon").text
    assert f"tacit resume {tmp_path}/runs/--abandon" in page
    assert find_plan_file(plans, "--runs=x.toml").is_absolute()
    with pytest.raises(PlanError):
        find_plan_file(plans, "other.toml")


def test_reading_locks_and_changes_nothing(tmp_path: Path) -> None:
    folder = made_up.folder(tmp_path, made_up.record(rounds=2, stop=1), "quiet-1")
    (folder / "lock").write_text("")
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    client, _, _ = build_client(build_runs_pages(tmp_path))
    for path in ("/", "/runs/quiet-1", "/runs/quiet-1/report", "/compare?run=quiet-1"):
        assert client.get(path).status_code == 200
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before
