"""Metrics of a site and of a server, read by the parser of the standard client."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tacit.ui.access.addresses import choose_address
from tacit.ui.access.rate_limit import MAX_FAILURES
from tacit.ui.server.pages import build_server_pages
from tacit.ui.site.pages import build_site_pages
from tests.ui.served import build_client
from tests.ui.site.made_up_site import MadeUpSite

parser: Any = pytest.importorskip("prometheus_client.parser")
ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guides" / "monitoring.md"


def read(text: str) -> dict[tuple[str, str], float]:
    """Samples by name and label value; a label has one word."""
    found = {}
    for family in parser.text_string_to_metric_families(text):
        assert family.documentation
        for sample in family.samples:
            assert len(sample.labels) <= 1
            found[sample.name, "".join(sample.labels.values())] = sample.value
    return found


def scrape_site(site: MadeUpSite) -> str:
    client, _, _ = build_client(build_site_pages(site.folder, metrics=True), log_in=False)
    answer = client.get("/metrics", headers={"accept": "text/plain"})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    return answer.text


def test_a_site_measures_what_its_ledger_says(tmp_path: Path) -> None:
    site = MadeUpSite(tmp_path)
    empty = read(scrape_site(site))
    assert empty["tacit_site_responses_total", ""] == 0
    assert empty["tacit_site_epsilon_limit", ""] == 12
    site.train("job-1", 2)
    site.offer("secret-project-9")
    text = scrape_site(site)
    found = read(text)
    assert found["tacit_site_joined", ""] == 0
    assert found["tacit_site_runs", "open"] == 1
    assert found["tacit_site_requests", "waiting"] == 1
    assert found["tacit_site_responses_total", ""] == 2
    assert found["tacit_site_response_bytes_total", ""] > 1000
    assert 0 < found["tacit_site_epsilon_spent", ""] < 1
    assert found["tacit_site_last_contact_timestamp_seconds", ""] > 1e9
    for hidden in ("job-1", "secret-project", "p001", "outcome", "tacit.example", "hospital"):
        assert hidden not in text, "no name, client or value is in a label"


def test_a_server_measures_its_sites_and_deployments(tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    pages = build_server_pages(tmp_path / "server", tmp_path / "runs", metrics=True)
    client, _, _ = build_client(pages, log_in=False)
    found = read(client.get("/metrics").text)
    assert found["tacit_server_sites", "online"] == 0
    assert found["tacit_server_missing_replies_total", "late"] == 0
    assert found["tacit_server_problems", ""] >= 0


def test_metrics_follow_the_rules_of_access(tmp_path: Path) -> None:
    site = MadeUpSite(tmp_path)
    password, file = tmp_path / "password", tmp_path / "cert.pem"
    password.write_text("correct horse battery\n")
    password.chmod(0o600)
    file.write_text("")
    address = choose_address(
        "0.0.0.0", 8443, names=["site.example"], password_file=password, certificate=file, key=file
    )
    client, _, _ = build_client(
        build_site_pages(site.folder, metrics=True), log_in=False, address=address
    )
    token = {"authorization": "Bearer correct horse battery"}
    assert client.get("/metrics").status_code == 401
    assert client.get("/metrics", headers=token).status_code == 200
    assert client.get("/", headers=token).status_code == 303, "a token opens no page"
    assert client.get("/metrics", headers={**token, "host": "evil.example"}).status_code == 421
    fetched = {**token, "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}
    assert client.get("/metrics", headers=fetched).status_code == 403
    for _ in range(MAX_FAILURES):
        assert client.get("/metrics", headers={"authorization": "Bearer x"}).status_code == 401
    assert client.get("/metrics", headers=token).status_code == 429


def test_metrics_are_not_served_unless_they_are_asked_for(tmp_path: Path) -> None:
    client, _, _ = build_client(build_site_pages(MadeUpSite(tmp_path).folder), log_in=False)
    assert client.get("/metrics").status_code == 404
    assert client.post("/metrics", headers={"origin": "http://127.0.0.1:8000"}).status_code != 200


def test_every_metric_is_documented(tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    pages = build_server_pages(tmp_path / "server", tmp_path / "runs", metrics=True)
    server = build_client(pages, log_in=False)[0].get("/metrics").text
    site = MadeUpSite(tmp_path)
    site.train("job-1", 1)
    names = {name for name, _ in {**read(server), **read(scrape_site(site))}}
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []
