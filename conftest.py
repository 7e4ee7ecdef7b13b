"""Settings for the whole suite."""

import atexit
import itertools
import os
import shutil
import tempfile

import pytest
from hypothesis import HealthCheck, settings

from tests import seeds

# A busy machine is no error: properties have no time limit, and examples may be made slowly.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

# No test leaves state of its sites on the machine, and none finds another's.
_STATE = tempfile.mkdtemp(prefix="tacit-state-")
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
os.environ["TACIT_STATE"] = os.path.join(_STATE, "shared")
_numbers = itertools.count()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="the seed of all statistical tests (-m statistical)",
    )


def pytest_configure(config: pytest.Config) -> None:
    seeds.chosen = config.getoption("--seed")


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_STATE", os.path.join(_STATE, str(next(_numbers))))
