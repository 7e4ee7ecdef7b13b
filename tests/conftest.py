"""Settings for the whole suite."""

import atexit
import itertools
import os
import shutil
import tempfile

import pytest
from hypothesis import settings

# A busy machine is no error: properties have no time limit.
settings.register_profile("house", deadline=None)
settings.load_profile("house")

# No test leaves state of its sites on the machine, and none finds another's.
_STATE = tempfile.mkdtemp(prefix="tacit-state-")
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
os.environ["TACIT_STATE"] = os.path.join(_STATE, "shared")
_numbers = itertools.count()


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_STATE", os.path.join(_STATE, str(next(_numbers))))
