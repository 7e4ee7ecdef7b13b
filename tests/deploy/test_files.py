"""The files for running Tacit as a service: they parse, and name commands, folders and extras that exist."""

from __future__ import annotations

import configparser
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from tacit.cli import app

FOLDER = Path(__file__).parents[2] / "deploy"
UNITS = sorted(FOLDER.glob("*.service"))


def has_command(words: list[str]) -> bool:
    """Return whether `tacit` has the command these words begin with, and every option among them."""
    command, options = get_command(app), {word for word in words if word.startswith("--")}
    for word in words:
        found = getattr(command, "commands", {}).get(word)
        if found is None:
            break
        command = found
    known = {option for parameter in command.params for option in parameter.opts}
    return command.name != "tacit" and options <= known


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units(path: Path) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment]
    unit.read(path)
    service = unit["Service"]
    if path.with_suffix(".timer").exists():
        assert service["Type"] == "oneshot"
    else:
        assert service["Restart"] == "always"
    assert service["UMask"] == "0077"
    assert has_command(service["ExecStart"].split()[1:])


def test_the_timer_starts_a_unit_every_day() -> None:
    (path,) = FOLDER.glob("*.timer")
    timer = configparser.ConfigParser(strict=True, interpolation=None)
    timer.read(path)
    assert timer["Timer"]["OnCalendar"] == "daily"
    assert path.with_suffix(".service") in UNITS


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_takes_them(path: Path, tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    copy = tmp_path / path.name.replace("@", "@x")
    copy.write_text(path.read_text().replace("/opt/tacit/bin/tacit", "/bin/true"))
    said = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_systemd_rates_their_exposure_as_low(path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    words = ["systemd-analyze", "security", "--offline=yes", "--no-pager", "--threshold=30"]
    said = subprocess.run([*words, str(path)], capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout.splitlines()[-1]


def test_the_compose_file() -> None:
    services = yaml.safe_load((FOLDER / "compose.yaml").read_text())["services"]
    assert set(services) == {"server", "site-a", "site-b", "site-c"}
    given = [service["command"] for service in services.values() if "command" in service]
    assert all(has_command(list(map(str, command))) for command in given)
