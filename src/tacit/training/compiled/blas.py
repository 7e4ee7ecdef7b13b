"""Limit the kernels' BLAS to one thread, so that results do not depend on the number of cores."""

from __future__ import annotations

import scipy.linalg.cython_blas  # noqa: F401 (must be loaded before it can be limited)
from threadpoolctl import threadpool_limits


def one_thread() -> threadpool_limits:
    """Return a context in which BLAS uses only the calling thread."""
    return threadpool_limits(1, "blas")
