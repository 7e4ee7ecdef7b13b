"""`tacit.__version__` is the version of the installed distribution."""

from __future__ import annotations

from importlib.metadata import version

import tacit


def test_the_version_is_the_distributions() -> None:
    assert tacit.__version__ == version("tacit")
