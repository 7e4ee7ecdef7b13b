"""Sites in this process: letters are handed over as bytes, without a network; and owners that allow everything."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tacit import plan, simulation
from tacit.cli.deploy.rehearse import POLICY_OF_A_REHEARSAL as GENEROUS
from tacit.deployment.server.job import Sites, deploy
from tacit.deployment.server.messenger import RequestSettings
from tacit.deployment.site.owner import Owner
from tacit.deployment.site.owner_site import OwnerSite
from tacit.privacy.policy import PrivacyUnit, SiteLedger
from tacit.privacy.policy.policy import parse_policy
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.rehearsal import prepare_rehearsal


class LocalPost:
    """Carries letters to sites of the same process; `spoil` may change what a site replies, and sites `away` are offline."""

    def __init__(self, sites: dict[str, OwnerSite]) -> None:
        self.sites, self.count = sites, 0
        self.replies: list[tuple[str, bytes | None]] = []
        self.away: set[str] = set()
        self.spoil: Callable[[str, bytes], bytes | None] = lambda site, reply: reply

    def online(self) -> dict[str, bool]:
        return {site: site not in self.away for site in self.sites}

    def send(self, site: str, message: bytes) -> str:
        self.count += 1
        if site in self.away:
            return str(self.count)
        self.replies.append((str(self.count), self.spoil(site, self.sites[site].handle(message))))
        return str(self.count)

    def collect(self) -> list[tuple[str, bytes | None]]:
        replies, self.replies = self.replies, []
        return replies

    def close(self, done: bool) -> None:
        pass


def unit_of(source: Path) -> PrivacyUnit:
    """Return who the clients in a file are, as its owner would say it: a column of that name, or all rows are one client's."""
    if not source.exists():
        return PrivacyUnit(client="client")
    names = list(
        pl.scan_parquet(source).collect_schema()
        if source.suffix == ".parquet"
        else pl.scan_csv(source).collect_schema()
    )
    client = next((name for name in ("client", "patient") if name in names), None)
    quasi = tuple(name for name in ("age", "town") if name in names)
    return PrivacyUnit(client=client, one_client=client is None, quasi_identifiers=quasi)


def owner(name: str, source: Path, folder: Path, policy: str = GENEROUS, **more: Any) -> Owner:
    folder.mkdir(parents=True, exist_ok=True)
    signs = {
        one: Ed25519PrivateKey.from_private_bytes(hashlib.sha256(one.encode()).digest())
        for one in ("a", "b", "c")
    }
    given: dict[str, Any] = {
        "name": name, "source": str(source), "folder": folder, "secret": name.encode(),
        "key": ec.derive_private_key(int.from_bytes(hashlib.sha256(name.encode()).digest(), "big") >> 8, ec.SECP384R1()),
        "signs_with": signs[name], "policy": lambda: parse_policy(policy) if policy else None,
        "open_ledger": lambda allowed, job: SiteLedger(folder / "ledger.sqlite", limits=allowed.limits, delta=job.delta),
        "unit": unit_of(source),
        "peers": lambda: {site: key.public_key().public_bytes_raw() for site, key in signs.items()},
    }  # fmt: skip
    return Owner(**{**given, **more})


def rehearsed(job: plan.Plan, folder: Path, policy: str = GENEROUS) -> tuple[str, str]:
    """Return the hashes of the model of a simulation and of the same run between three sites."""
    one = simulation.start(job, folder / "simulated")
    ready = prepare_rehearsal(job, folder / "rows", 3)
    owners = [
        owner(name, file, folder / "sites" / name, policy, tell=print) for name, file in zip("abc", ready.files, strict=True)
    ]  # fmt: skip
    place = deploy(
        ready.plan,
        sites_of(owners),
        folder / "deployed",
        test=str(ready.test),
        simulated_noise=True,
        identity=ready.identity,
    )
    return model_of(one), model_of(place)


def sites_of(owners: list[Owner], **settings: Any) -> Sites:
    transport = LocalPost({one.name: OwnerSite(one) for one in owners})
    return Sites(
        transport=transport,
        keys={one.name: one.key.public_key() for one in owners},
        settings=RequestSettings(
            **{"min_sites": len(owners), "deadline": 5, "poll_interval": 0.0, **settings}
        ),
    )


def model_of(place: Path) -> str:
    return record.select_entries(list(record.read(place / RECORD)), record.Finished, "run")[
        -1
    ].parameters_sha256
