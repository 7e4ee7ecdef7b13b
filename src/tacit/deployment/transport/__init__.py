"""Flower as a carrier of bytes between the server and sites; the only place that imports `flwr`.

A letter is what the engine sends, a sequence of bytes that this room does not read. No code
travels: a site runs its own loop (`node.py`), the server's run is the process that asks
(`post.py`), and between them stands Flower's SuperLink (`link.py`) behind a front that lets nobody
in unknown (`front.py`).
"""

import os

# Flower reads these when it is imported, which only modules below this package do.
os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
os.environ["FLWR_DISABLE_UPDATE_CHECK"] = "1"
os.environ["FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION"] = "1"
for _name in [
    name
    for name in os.environ
    if name.startswith(("FLWR_INTERNAL_", "FLWR_PRIVATE_", "FLWR_OIDC_", "FLWR_LOG_LEVEL"))
]:
    del os.environ[_name]
