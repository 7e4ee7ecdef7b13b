"""A deployment by its commands alone, as people type them: who runs what, which files are carried, what is read out by phone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.deploy.network import Machine

FINGERPRINT = re.compile(r"^ *((?:[0-9a-f]{4} ){15}[0-9a-f]{4})$", re.MULTILINE)


class WalkError(Exception):
    """A command ended otherwise than expected."""


@dataclass
class Walk:
    """Runs commands, and keeps a transcript and what people had to do.

    `tacit` are the words that run Tacit on a machine, by its name; "" stands for all others.
    """

    tacit: dict[str, Sequence[str]] = field(
        default_factory=lambda: {"": (sys.executable, "-P", "-m", "tacit")}
    )
    environment: dict[str, dict[str, str]] = field(default_factory=dict)
    commands: Counter[str] = field(default_factory=Counter)
    carried: Counter[str] = field(default_factory=Counter)
    running: list[subprocess.Popen[str]] = field(default_factory=list)
    quiet: bool = False

    def say(self, line: str) -> None:
        if not self.quiet:
            print(line, flush=True)

    def run(self, machine: Machine, role: str, *words: str, expected: int = 0) -> str:
        """Run one command to its end and return all that it prints."""
        self._count(machine, role, words)
        done = subprocess.run(
            self._words(machine, words),
            cwd=machine.folder,
            env=self._environment(machine),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        for line in done.stdout.rstrip().splitlines():
            self.say(f"    {line}")
        if done.returncode != expected:
            raise WalkError(
                f"{machine.name}: tacit {' '.join(words)}: exit code {done.returncode}, expected {expected}\n{done.stdout}"
            )
        return done.stdout

    def start(self, machine: Machine, role: str, *words: str) -> None:
        """Start a command that goes on; its output goes to a file named after its first words."""
        self._count(machine, role, words, ends=False)
        log = (machine.folder / f"{'-'.join(words[:2])}.log").open("w")
        self.running.append(
            subprocess.Popen(
                self._words(machine, words),
                cwd=machine.folder,
                env=self._environment(machine),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )

    def wait_for(self, path: Path, text: str, seconds: float = 120.0) -> None:
        """Wait until a file holds a text."""
        end = time.monotonic() + seconds
        while not (path.exists() and text in path.read_text(errors="replace")):
            if time.monotonic() > end:
                shown = path.read_text(errors="replace") if path.exists() else "no file"
                raise WalkError(f"{path}: no {text!r} within {seconds:g} s\n{shown}")
            time.sleep(0.2)

    def carry(self, path: Path, site: str, target: Machine) -> None:
        """Carry one file of a site to another machine, by mail or on a stick."""
        self.carried[site] += 1
        self.say(f"{'(mail)':12} {path.name} → {target.name}")
        shutil.copyfile(path, target.folder / path.name)

    def stop(self) -> None:
        """Stop what goes on."""
        for process in self.running:
            process.terminate()
        for process in self.running:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running.clear()

    def _count(
        self, machine: Machine, role: str, words: Sequence[str], *, ends: bool = True
    ) -> None:
        self.commands[role] += 1
        shown = " ".join(f'"{word}"' if " " in word else word for word in words)
        self.say(f"{machine.name:12} $ tacit {shown}{'' if ends else ' &'}")

    def _words(self, machine: Machine, words: Sequence[str]) -> list[str]:
        return [*machine.prefix, *self.tacit.get(machine.name, self.tacit[""]), *words]

    def _environment(self, machine: Machine) -> dict[str, str]:
        own = self.environment.get(machine.name, self.environment.get("", {}))
        return {**os.environ, "TACIT_STATE": str(machine.folder / "state"), **own}


def find_fingerprint(text: str, last: bool = False) -> str:
    """Return the first fingerprint that a command printed, or the last."""
    return str(FINGERPRINT.findall(text)[-1 if last else 0])
