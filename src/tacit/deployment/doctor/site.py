"""A site's folder: settings, secrets, policy, rows, ledger, and the server it joins."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from tacit.data.read import is_file_source, list_files
from tacit.deployment.doctor.finding import (
    Finding,
    check_certificate,
    check_disk,
    check_secrets,
)
from tacit.deployment.doctor.way_to_server import check_server
from tacit.deployment.site.site_folder import (
    KEY,
    LEDGER,
    POLICY,
    SECRET,
    SETTINGS,
    SIGNS,
    SiteSettings,
    find_joined_process,
    find_source,
    open_witness,
    read_policy,
    read_site_settings,
)
from tacit.errors import DataError, LedgerError, TacitError
from tacit.privacy.policy import Limits, SiteLedger


def diagnose_site(folder: Path) -> Iterator[Finding]:
    """Check the site of a folder. Its rows are not read."""
    try:
        settings = read_site_settings(folder)
    except TacitError:
        yield from diagnose_site_quickly(folder)
        return
    yield from _check_folder(folder, settings)
    yield _check_policy(folder)
    yield _check_unit(settings)
    yield _check_peers(settings)
    yield _check_rows(folder, settings)
    yield from _check_ledger(folder)
    authority = folder / settings.authority if settings.authority else None
    yield from check_server(settings.server, authority, settings.proxy)
    yield _check_process(folder, must_run=False)


def diagnose_site_quickly(folder: Path) -> Iterator[Finding]:
    """Check what costs little: settings, disk, secret files, certificate, and that a process acts
    for the site.
    """
    try:
        settings = read_site_settings(folder)
    except TacitError as error:
        yield Finding(
            subject="settings",
            state="problem",
            detail=str(error),
            remedy="create a site with `tacit site init`",
        )
        return
    yield from _check_folder(folder, settings)
    yield _check_process(folder, must_run=True)


def _check_folder(folder: Path, settings: SiteSettings) -> Iterator[Finding]:
    """Check settings, disk, secret files and the authority's certificate."""
    yield Finding(
        subject="settings", state="ok", detail=f"site {settings.name}, server {settings.server}"
    )
    yield check_disk(folder)
    yield from check_secrets(folder, (KEY, SIGNS, SECRET))
    if settings.authority:
        path = folder / settings.authority
        yield check_certificate(path, "ask the server's operator for ca.crt")[1]


def _check_process(folder: Path, *, must_run: bool) -> Finding:
    """Check that a process acts for the site; without one a problem if it must run."""
    number = find_joined_process(folder)
    if number is not None:
        return Finding(subject="joined", state="ok", detail=f"process {number}")
    return Finding(
        subject="joined",
        state="problem" if must_run else "warning",
        detail="no process acts for this site",
        remedy=f"start it with `tacit site join {folder}`",
    )


def _check_policy(folder: Path) -> Finding:
    remedy = f"write a strict one with `tacit site policy init {folder / POLICY}`"
    try:
        policy = read_policy(folder)
    except TacitError as error:
        return Finding(
            subject="policy",
            state="problem",
            detail=str(error),
            remedy="correct the file; until then the site refuses every plan",
        )
    if policy is None:
        return Finding(
            subject="policy",
            state="problem",
            detail="there is no policy, so the site refuses every plan",
            remedy=remedy,
        )
    limits = policy.limits
    detail = (
        f"epsilon per client: {limits.max_epsilon_per_run:g} per run,"
        f" {limits.max_epsilon_lifetime:g} for"
        " life"
    )
    return Finding(subject="policy", state="ok", detail=detail)


def _check_unit(settings: SiteSettings) -> Finding:
    """Check that site.toml defines the clients, whose budgets the ledger keeps."""
    if bool(settings.client) == settings.one_client:
        remedy = 'set client = "COLUMN" or one_client = true in site.toml'
        return Finding(
            subject="clients",
            state="problem",
            detail="site.toml does not define them, so the site refuses every plan",
            remedy=remedy,
        )
    detail = (
        f"each value of the column {settings.client!r}"
        if settings.client
        else "all rows belong to one client"
    )
    return Finding(subject="clients", state="ok", detail=detail)


def _check_peers(settings: SiteSettings) -> Finding:
    """Check that the site knows other sites' keys, which secure aggregation requires."""
    others = sorted(name for name in settings.peers or {} if name != settings.name)
    if not others:
        detail = "the site knows no other site's key, so it refuses plans with secure aggregation"
        remedy = (
            "list other sites with `tacit site peers`, and confirm each with `tacit site confirm` by"
            " the fingerprint that its owner reads out"
        )
        return Finding(subject="peers", state="warning", detail=detail, remedy=remedy)
    unknown = [
        name for name in settings.helpers or () if name != settings.name and name not in others
    ]
    if unknown:
        detail = f"helpers in {SETTINGS} names {', '.join(unknown)}, which [peers] lacks"
        return Finding(
            subject="peers",
            state="problem",
            detail=detail,
            remedy="confirm their keys with `tacit site confirm`",
        )
    return Finding(subject="peers", state="ok", detail=f"knows the keys of {', '.join(others)}")


def _check_rows(folder: Path, settings: SiteSettings) -> Finding:
    source = find_source(folder, settings)
    if not is_file_source(source) and not Path(source).suffix and not Path(source).is_absolute():
        return Finding(subject="rows", state="ok", detail=f"the data set {settings.data!r}")
    try:
        files = list_files(source, "data")
    except DataError as error:
        return _rows_problem(str(error), "set `data` in site.toml")
    missing = [file for file in files if not file.exists()]
    if missing:
        return _rows_problem(f"{missing[0]} does not exist", "set `data` in site.toml")
    closed = [file for file in files if not os.access(file, os.R_OK)]
    if closed:
        return _rows_problem(f"{closed[0]} cannot be read", f"chmod u+r {closed[0]}")
    public = [file for file in files if file.is_file() and file.stat().st_mode & 0o007]
    if public and os.name == "posix":
        return Finding(
            subject="rows",
            state="warning",
            detail=f"every user of this machine may read {public[0]}",
            remedy=f"chmod o= {public[0]}",
        )
    detail = f"{files[0]} can be read" if len(files) == 1 else f"{len(files):,} files can be read"
    return Finding(subject="rows", state="ok", detail=detail)


def _rows_problem(detail: str, remedy: str) -> Finding:
    return Finding(subject="rows", state="problem", detail=detail, remedy=remedy)


def _check_ledger(folder: Path) -> Iterator[Finding]:
    path = folder / LEDGER
    try:
        witness = open_witness(folder, read_site_settings(folder))
        last = witness.receipt()
    except TacitError as error:
        yield Finding(
            subject="ledger", state="problem", detail=str(error), remedy="see the findings above"
        )
        return
    if not path.exists():
        if last.counter:
            detail = f"the ledger is missing but had {last.counter:,} entries; the site sends no response"
            yield Finding(
                subject="ledger",
                state="problem",
                detail=detail,
                remedy="restore the newest copy of the ledger",
            )
        else:
            yield Finding(subject="ledger", state="ok", detail="nothing was charged yet")
        return
    yield from check_secrets(folder, (LEDGER,))
    try:
        with closing(
            SiteLedger(path, limits=Limits(), delta=1e-5)
        ) as book:  # unused: nothing is charged here
            book.verify()
            witness.check(book)
            detail = f"intact, {book.receipt().counter:,} entries"
    except LedgerError as error:
        yield Finding(
            subject="ledger",
            state="problem",
            detail=str(error),
            remedy="restore an intact copy that is not older",
        )
        return
    yield Finding(subject="ledger", state="ok", detail=detail)
