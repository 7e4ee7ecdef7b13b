"""The kernels' BLAS, held at one thread: were it to start its own, a result could depend on the machine's cores."""

from __future__ import annotations

import scipy.linalg.cython_blas  # noqa: F401 (must be loaded before it can be limited)
from threadpoolctl import threadpool_limits


def one_thread() -> threadpool_limits:
    """Return a context in which BLAS uses the calling thread alone."""
    return threadpool_limits(1, "blas")
