"""Start Ray on this machine, or attach to a running cluster, always with token authentication."""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tacit.errors import RunError

_MODE, _TOKEN = "RAY_AUTH_MODE", "RAY_AUTH_TOKEN"
LOCAL = "local:"


@contextmanager
def connect(address: str) -> Iterator[int]:
    """Yield the number of cores of a cluster while this process is attached to it.

    `local:N` starts Ray with N cores on this machine, under a token that only this process and its
    children know, unless the environment has one. Any other address is that of a running cluster
    (`auto`: the one on this machine), whose token Ray reads from RAY_AUTH_TOKEN,
    RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token. A process that has already attached stays attached.
    """
    was_imported = "ray" in sys.modules
    had_token = os.environ.get(_MODE) == "token"
    if not was_imported:
        require_token(address)  # Ray reads it once, when it is imported
    import ray

    if ray.is_initialized():
        if address.startswith(LOCAL):
            raise RunError(
                f"engine.cluster = {address!r}: this process is attached to Ray already; use"
                " engine.cluster = 'auto', or call ray.shutdown() first"
            )
        yield _count_cores()
        return
    require_token(address)
    if was_imported and not had_token:
        raise RunError(
            f"engine.cluster = {address!r}: this program imported Ray before it set {_MODE}; set"
            f" {_MODE}=token in its environment, or import Ray later"
        )
    try:
        with _same_signals():
            _attach(address)
        yield _count_cores()
    finally:
        ray.shutdown()


@contextmanager
def _same_signals() -> Iterator[None]:
    """Keep this process's handler of SIGTERM, which Ray replaces by one that ends it at once."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread() and before is not None:
        signal.signal(signal.SIGTERM, before)


def require_token(address: str) -> None:
    """Make Ray use a token: who reaches the ports of a cluster without one runs code on it."""
    mode = os.environ.setdefault(_MODE, "token")
    if mode != "token":
        raise RunError(
            f"{_MODE} = {mode!r}: a cluster without a token lets everybody who reaches its ports run"
            " code; set it to 'token' here and on every node"
        )
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if address.startswith(LOCAL):
        os.environ.setdefault("RAY_worker_niceness", "0")  # 15 would starve on a busy machine
    if address.startswith(LOCAL) and "RAY_AUTH_TOKEN_PATH" not in os.environ:
        os.environ.setdefault(_TOKEN, secrets.token_hex(32))


def _attach(address: str) -> None:
    import ray

    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    try:
        if address.startswith(LOCAL):
            cores = int(address.removeprefix(LOCAL))
            ray.init(address="local", num_cpus=cores, include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
    except Exception as error:  # Ray raises many kinds: no cluster, no token, another version
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise RunError(
            f"engine.cluster = {address!r}: no connection to Ray ({reason[0][:200]}); check the"
            " address, that `ray status` works there, and that the token is the cluster's"
        ) from None


def _count_cores() -> int:
    import ray

    resources: dict[str, float] = ray.cluster_resources()  # type: ignore[no-untyped-call]
    return max(1, int(resources.get("CPU", 1)))
