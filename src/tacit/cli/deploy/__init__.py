"""`tacit deploy run`: run a plan between sites."""
