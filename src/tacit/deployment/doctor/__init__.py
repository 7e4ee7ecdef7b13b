"""Diagnosis of a server's or a site's machine. Nothing is changed."""

from tacit.deployment.doctor.finding import Finding, State
from tacit.deployment.doctor.machine import diagnose_machine
from tacit.deployment.doctor.server import diagnose_server, diagnose_server_quickly
from tacit.deployment.doctor.site import diagnose_site, diagnose_site_quickly

__all__ = [
    "Finding",
    "State",
    "diagnose_machine",
    "diagnose_server",
    "diagnose_server_quickly",
    "diagnose_site",
    "diagnose_site_quickly",
]
