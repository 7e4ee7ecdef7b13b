"""Metrics of a site and of a server, in the text format of Prometheus."""
