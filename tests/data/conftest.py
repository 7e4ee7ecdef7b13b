from __future__ import annotations

import os
from pathlib import Path

import pytest

from tacit.data import find_data_set
from tacit.randomness import Draws


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep every test away from the user's cache."""
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def draws() -> Draws:
    return Draws.seeded(7)


def need(name: str) -> None:
    """Skip unless the named set lies in one of the TACIT_DATA folders."""
    if not os.environ.get("TACIT_DATA"):
        pytest.skip(f"TACIT_DATA is not set, so {name} is not at hand")
    if find_data_set(name) is None:
        pytest.skip(f"{name} is not in the TACIT_DATA folders")
