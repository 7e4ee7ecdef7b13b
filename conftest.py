"""Settings for the whole suite."""

import atexit
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests import json_outputs, seeds

# A busy machine is no error: properties have no time limit, and examples may be made slowly.
settings.register_profile("house", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("house")

# No test leaves state of its sites on the machine, and none finds another's.
_STATE = tempfile.mkdtemp(prefix="tacit-state-")
atexit.register(shutil.rmtree, _STATE, ignore_errors=True)
os.environ["TACIT_STATE"] = os.path.join(_STATE, "shared")
_numbers = itertools.count()

# Plans read alike whether or not a text encoder is installed.
os.environ["TACIT_ENCODER"] = "off"


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
    json_outputs.install()


@pytest.fixture(autouse=True)
def _own_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_STATE", os.path.join(_STATE, str(next(_numbers))))


@pytest.fixture(autouse=True)
def _outputs_fit_their_schemas() -> Iterator[None]:
    json_outputs.misfits.clear()
    yield
    assert json_outputs.misfits == [], (
        "describe the output in src/tacit/cli/outputs: make reference"
    )
