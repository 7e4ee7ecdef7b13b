"""The images: what they install, who they run as, what they may write to, how their health is checked."""

from __future__ import annotations

import fnmatch
import re
import tomllib
from typing import Any

import pytest
import yaml

from release import site_requirements
from release.check_base import check_base
from tests.deploy.dockerfile import DOCKERFILE, ROOT, read_stages
from tests.deploy.test_files import has_command

STAGES = {name: stage for name, stage in read_stages().items() if name != "base"}
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize("name", STAGES)
def test_an_image_runs_as_a_user_by_number_and_names_its_volumes(name: str) -> None:
    stage = STAGES[name]
    assert stage.user == "10001:10001"
    assert stage.volumes == ("/home/tacit/state", "/var/cache/tacit")
    assert stage.environment["NUMBA_CACHE_DIR"] in stage.volumes
    assert any(
        "install -d -o 10001 -g 10001 -m 700" in line and all(v in line for v in stage.volumes)
        for line in stage.runs
    )


@pytest.mark.parametrize("name", STAGES)
def test_an_image_starts_and_checks_commands_that_exist(name: str) -> None:
    stage = STAGES[name]
    assert stage.entry == ("tacit",)
    assert has_command(list(stage.command))
    assert stage.health[0] == "tacit"
    assert has_command(list(stage.health[1:]))
    assert stage.health[-1] == "--quick"
    assert stage.command[2] in stage.health


def test_images_install_what_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ((*_, server),) = STAGES["server"].list_installs()
    (extra,) = re.findall(r"\.\[(\w+)\]", server)
    assert extra in extras["optional-dependencies"]
    pins, own = STAGES["site"].list_installs()
    assert pins == ["--no-deps", "--requirement", "site-requirements.txt"]
    assert own == ["--no-deps", "."]
    assert all((ROOT / word).exists() for word in STAGES["site"].copied)


def test_what_is_copied_is_not_ignored() -> None:
    first, *kept = [
        line
        for line in (ROOT / ".dockerignore").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    assert first == "*"
    for word in STAGES["site"].copied:
        word = word.removeprefix("./").rstrip("/")
        assert any(fnmatch.fnmatch(word, line[1:]) for line in kept if line.startswith("!")), word


def test_a_site_has_the_pins_of_its_packages_and_no_plotting_or_server() -> None:
    kept = site_requirements.TARGET.read_text(encoding="utf-8")
    assert kept == site_requirements.render(), "run python -m release.site_requirements"
    for absent in ("plotly", "sqlalchemy", "torch", "uv", "uvicorn"):
        assert f"\n{absent}==" not in kept
    for present in ("flwr", "numba", "polars", "scipy"):
        assert f"\n{present}==" in kept


def test_a_base_image_without_digest_builds_nothing() -> None:
    assert "ARG BASE\nFROM ${BASE} AS base" in DOCKERFILE.read_text()
    check_base(f"python:3.11-slim@{DIGEST}")
    for wrong in ("", "python:3.11-slim", "python@sha256:12", f"@{DIGEST}"):
        with pytest.raises(SystemExit, match="digest"):
            check_base(wrong)


def test_services_have_a_read_only_root_and_no_rights() -> None:
    services = COMPOSE["services"]
    for name, service in services.items():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert service["user"] == "10001:10001"
        mounted = [volume.split(":")[1] for volume in service["volumes"]]
        assert set(STAGES["site"].volumes) <= set(mounted), name
        assert all(
            volume.split(":")[0] in COMPOSE["volumes"]
            for volume in service["volumes"]
            if not volume.startswith("..")
        )
        assert "?" in service["build"]["args"]["BASE"]
        assert service["build"]["target"] in STAGES


def test_the_servers_certificate_is_for_the_name_of_its_service() -> None:
    command = list(map(str, COMPOSE["services"]["server"]["command"]))
    assert command[command.index("--name") + 1] == "server"
    assert tuple(command) == STAGES["server"].command
