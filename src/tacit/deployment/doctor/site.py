"""A site's folder: settings, secrets, policy, rows, ledger, and the server it joins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from tacit.deployment.doctor.finding import Finding, certificate, clock, disk, secrets
from tacit.deployment.doctor.reach import reached
from tacit.deployment.site.site_folder import (
    KEY,
    LEDGER,
    POLICY,
    SECRET,
    SETTINGS,
    SIGNS,
    SiteSettings,
    joined_process,
    policy_of,
    site_settings,
    source_of,
    witness_of,
)
from tacit.errors import LedgerError, TacitError
from tacit.privacy.policy import Limits, SiteLedger


def look_at_site(folder: Path) -> Iterator[Finding]:
    """Yield what is right and wrong with the site of a folder. Its rows are not read."""
    try:
        settings = site_settings(folder)
    except TacitError as error:
        yield Finding(
            what="settings",
            state="problem",
            told=str(error),
            remedy="`tacit site init` makes a site",
        )
        return
    yield Finding(
        what="settings", state="ok", told=f"site {settings.name}, server {settings.server}"
    )
    yield disk(folder)
    yield from secrets(folder, (KEY, SIGNS, SECRET))
    yield _policy(folder)
    yield _unit(settings)
    yield _peers(settings)
    yield _rows(folder, settings)
    yield from _ledger(folder)
    authority = folder / settings.authority if settings.authority else None
    if authority is not None:
        yield certificate(authority, "ask the server's operator for ca.crt")[1]
    why, offset = reached(settings.server, authority)
    remedy = "see that the server runs and that this machine may reach it" if why else ""
    told = (
        f"cannot be reached: {why}"
        if why
        else f"answers{' with TLS, signed by the authority' if authority else ' without TLS'}"
    )
    yield Finding(what="server", state="problem" if why else "ok", told=told, remedy=remedy)
    yield clock(offset)
    number = joined_process(folder)
    if number is None:
        yield Finding(
            what="joined",
            state="warning",
            told="no process of this site runs",
            remedy=f"tacit site join {folder}",
        )
    else:
        yield Finding(what="joined", state="ok", told=f"process {number}")


def _policy(folder: Path) -> Finding:
    remedy = f"`tacit policy init {folder / POLICY}` writes a careful one"
    try:
        policy = policy_of(folder)
    except TacitError as error:
        return Finding(
            what="policy",
            state="problem",
            told=str(error),
            remedy="mend the file; until then nothing is allowed",
        )
    if policy is None:
        return Finding(
            what="policy",
            state="problem",
            told="there is none, so nothing is allowed",
            remedy=remedy,
        )
    limits = policy.limits
    told = (
        f"epsilon per client: {limits.epsilon_per_run:g} per run, {limits.epsilon_for_life:g} for"
        " life"
    )
    return Finding(what="policy", state="ok", told=told)


def _unit(settings: SiteSettings) -> Finding:
    """Whether it is said whom the budgets of this site protect."""
    if bool(settings.client) == settings.one_client:
        remedy = 'write client = "COLUMN" into site.toml, or one_client = true'
        return Finding(
            what="clients",
            state="problem",
            told="nobody said who they are, so every plan is refused",
            remedy=remedy,
        )
    told = (
        f"each value of the column {settings.client!r}"
        if settings.client
        else "all rows belong to one client"
    )
    return Finding(what="clients", state="ok", told=told)


def _peers(settings: SiteSettings) -> Finding:
    """Whether the site knows other sites, without which it refuses plans with a secure
    aggregation.
    """
    others = sorted(name for name in settings.peers or {} if name != settings.name)
    if not others:
        told = "the site knows no other site's key, so it refuses plans with a [secure_sum]"
        remedy = (
            f"add signing keys of other sites to [peers] in {SETTINGS}, as their owners read them"
            " from `tacit site status`"
        )
        return Finding(what="peers", state="warning", told=told, remedy=remedy)
    unknown = [
        name for name in settings.helpers or () if name != settings.name and name not in others
    ]
    if unknown:
        told = f"helpers in {SETTINGS} names {', '.join(unknown)}, which [peers] lacks"
        return Finding(
            what="peers",
            state="problem",
            told=told,
            remedy=f"add the keys to [peers] in {SETTINGS}",
        )
    return Finding(what="peers", state="ok", told=f"knows the keys of {', '.join(others)}")


def _rows(folder: Path, settings: SiteSettings) -> Finding:
    source = Path(source_of(folder, settings))
    if not source.exists():
        if source.suffix or source.is_absolute():
            return Finding(
                what="rows",
                state="problem",
                told=f"{source} is not there",
                remedy="set `data` in site.toml",
            )
        return Finding(what="rows", state="ok", told=f"the data set {settings.data!r}")
    if not os.access(source, os.R_OK):
        return Finding(
            what="rows",
            state="problem",
            told=f"{source} may not be read",
            remedy=f"chmod u+r {source}",
        )
    if source.is_file() and os.name == "posix" and source.stat().st_mode & 0o007:
        return Finding(
            what="rows",
            state="warning",
            told=f"everybody here may read {source}",
            remedy=f"chmod o= {source}",
        )
    return Finding(what="rows", state="ok", told=f"{source} can be read")


def _ledger(folder: Path) -> Iterator[Finding]:
    path = folder / LEDGER
    try:
        witness = witness_of(folder, site_settings(folder))
        last = witness.receipt()
    except TacitError as error:
        yield Finding(
            what="ledger", state="problem", told=str(error), remedy="see the findings above"
        )
        return
    if not path.exists():
        if last.counter:
            told = f"is missing, but it had {last.counter:,} entries; no answer is sent"
            yield Finding(
                what="ledger", state="problem", told=told, remedy="put the newest ledger back"
            )
        else:
            yield Finding(what="ledger", state="ok", told="nothing was paid yet")
        return
    yield from secrets(folder, (LEDGER,))
    try:
        with closing(
            SiteLedger(path, limits=Limits(), delta=1e-5)
        ) as book:  # nothing is charged here, so neither matters
            book.verify()
            witness.check(book)
            told = f"whole, {book.receipt().counter:,} entries"
    except LedgerError as error:
        yield Finding(
            what="ledger",
            state="problem",
            told=str(error),
            remedy="put back a copy that is whole and no older",
        )
        return
    yield Finding(what="ledger", state="ok", told=told)
