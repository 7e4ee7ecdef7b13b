"""Reads deploy/Dockerfile as far as its tests need: stages, variables, packages, health checks."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"


@dataclass
class Stage:
    """One stage, with what it takes from the stage it begins with."""

    environment: dict[str, str] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)
    user: str = "root"
    command: tuple[str, ...] = ()
    entry: tuple[str, ...] = ()
    health: tuple[str, ...] = ()
    volumes: tuple[str, ...] = ()
    copied: list[str] = field(default_factory=list)

    def list_installs(self) -> list[list[str]]:
        """The arguments of each `pip install`."""
        lines = [part.strip() for line in self.runs for part in line.split("&&")]
        return [
            [word for word in shlex.split(line)[2:] if word != "--no-cache-dir"]
            for line in lines
            if line.startswith("pip install")
        ]


def read_stages() -> dict[str, Stage]:
    """Stages by their names."""
    text = re.sub(r"\\\n\s*", "", DOCKERFILE.read_text(encoding="utf-8"))
    stages: dict[str, Stage] = {}
    stage = Stage()
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        match word:
            case "FROM":
                origin, _, name = rest.partition(" AS ")
                begun = stages.get(origin, Stage())
                stage = Stage(dict(begun.environment), list(begun.runs), copied=list(begun.copied))
                stages[name] = stage
            case "ENV":
                name, _, value = rest.partition("=")
                stage.environment[name] = value
            case "RUN":
                stage.runs.append(rest)
            case "COPY":
                stage.copied += shlex.split(rest)[:-1]
            case "USER":
                stage.user = rest
            case "CMD":
                stage.command = tuple(json.loads(rest))
            case "ENTRYPOINT":
                stage.entry = tuple(json.loads(rest))
            case "VOLUME":
                stage.volumes = tuple(json.loads(rest))
            case "HEALTHCHECK":
                stage.health = tuple(json.loads(rest.partition(" CMD ")[2]))
            case _:
                pass
    return stages
