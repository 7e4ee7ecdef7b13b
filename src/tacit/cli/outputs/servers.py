"""Outputs about servers, their people, and deployments. The string below a key is its meaning."""

from __future__ import annotations

from typing import Literal, TypedDict


class DoctorFinding(TypedDict):
    """The result of one check."""

    of: str
    """The server or site that was checked."""
    subject: str
    """What was checked."""
    state: Literal["ok", "warning", "problem"]
    """The result."""
    detail: str
    """The result in a sentence."""
    remedy: str
    """What to do; empty if nothing."""


class FindingsOutput(TypedDict):
    """Checks of a server or of sites."""

    findings: list[DoctorFinding]
    """Every check."""


class AdmittedSite(TypedDict):
    """A site in the server's registry."""

    name: str
    """Name of the site."""
    fingerprint: str | None
    """Fingerprint of its keys; null for a site without a signing key."""
    revoked: str | None
    """Day on which it was revoked; null if it is admitted."""


class SitesOutput(TypedDict):
    """Admitted and revoked sites of a server."""

    sites: list[AdmittedSite]
    """Every site."""


class AdmittedPerson(TypedDict):
    """A person who may reach the server from another machine."""

    name: str
    """Name of the person."""
    role: Literal["operator", "coordinator", "auditor"]
    """What the person may do."""
    fingerprint: str
    """Fingerprint of the name and the certificate."""
    certificate_ends: str
    """Day on which the certificate ends."""
    revoked: str | None
    """When the access was revoked (UTC); null if it is admitted."""


class PeopleOutput(TypedDict):
    """People who may reach a server from other machines."""

    people: list[AdmittedPerson]
    """Every person, the revoked ones included."""


class CoordinatedRunOutput(TypedDict):
    """A run that a coordinator began from another machine."""

    run: str
    """Name of the run at the server and at sites."""
    coordinator: str
    """Name of the coordinator."""
    opened: str
    """When the run began (UTC)."""
    changed: str
    """When its state last changed (UTC)."""
    state: Literal["open", "stopped", "interrupted", "finished"]
    """State of the run as the server knows it."""


class CoordinatedRunsOutput(TypedDict):
    """Runs that coordinators began from other machines."""

    runs: list[CoordinatedRunOutput]
    """Every run, the last changed first."""


class RehearsalOutput(TypedDict):
    """Whether sites and the simulation end with the same model."""

    simulated: str
    """SHA-256 of the model of the simulation."""
    sites: str
    """SHA-256 of the model of the sites."""
    same: bool
    """Whether both are identical."""
