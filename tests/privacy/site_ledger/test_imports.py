"""The ledger's packages can be imported first: a command that only reads a ledger loads nothing else before."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "module", ["tacit.privacy.site_ledger.spending", "tacit.privacy.policy.requirements"]
)
def test_a_module_can_be_the_first_import(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {module}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
