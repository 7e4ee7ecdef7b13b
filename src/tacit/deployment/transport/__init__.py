"""Flower as a carrier of signed messages between the server and sites.

This package does not read the messages, and only it imports `flwr`. No code travels: a site runs
its own loop (`site/node.py`), a run's process on the server sends the requests
(`server/channel.py`), and Flower's SuperLink stands between them behind a filter that rejects
unauthenticated requests (`superlink/`).
"""

import os

# Flower reads these variables on import, and only modules of this package import it.
os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
os.environ["FLWR_DISABLE_UPDATE_CHECK"] = "1"
os.environ["FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION"] = "1"
for _name in [
    name
    for name in os.environ
    if name.startswith(("FLWR_INTERNAL_", "FLWR_PRIVATE_", "FLWR_OIDC_", "FLWR_LOG_LEVEL"))
]:
    del os.environ[_name]
