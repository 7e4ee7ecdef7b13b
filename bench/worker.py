"""A contender as the harness sees it: a process that stays alive and does one repeat on request."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from bench import ROOT
from bench.clock import Taken

_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


class ContenderError(RuntimeError):
    """A contender ended or did not start."""


class BenchmarkWorker:
    """One contender, running; `root` is the checkout whose modules it imports."""

    def __init__(
        self,
        module: str,
        *arguments: object,
        python: str = sys.executable,
        root: Path = ROOT,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.module = module
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self._process = subprocess.Popen(
            [python, "-m", module, *map(str, arguments)],
            cwd=root,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, **_ONE_THREAD, "PYTHONPATH": str(root), **(environment or {})},
        )
        self._read()

    def ask(self, **request: Any) -> dict[str, Any]:
        """Answer to one request."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise ContenderError(self._last_words()) from None
        return self._read()

    def repeat(self, **request: Any) -> Taken:
        """Measure one repeat."""
        answer = self.ask(do="repeat", **request)
        return Taken(answer["wall"], answer["cpu"])

    def _read(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ContenderError(self._last_words())
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _last_words(self) -> str:
        self._process.wait(timeout=60)
        self._log.seek(0)
        text = self._log.read().decode(errors="replace")
        return (
            f"{self.module} ended with code {self._process.returncode}; its last"
            f" words:\n{text[-2000:]}"
        )

    def close(self) -> None:
        """Hang up and wait for the process to end."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it may have ended by itself
            self._process.stdin.close()
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def __enter__(self) -> BenchmarkWorker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
