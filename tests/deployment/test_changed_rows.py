"""A site whose rows change during a run says so, sits out, and takes part again with the old rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.deployment.server.job import deploy
from tacit.deployment.server.messenger import REASONS
from tacit.deployment.site.owner_site import OwnerSite
from tacit.deployment.site.rows.changed_rows import ChangedRowsError, RowsWatch
from tacit.protocol.messages.signed_message import read
from tacit.runs import record
from tacit.runs.run_folder import RECORD
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.deployment.local_post import model_of, owner, sites_of
from tests.simulation.small import small_plan, write_csv

WHY = REASONS["rows changed"]


def run_between(
    folder: Path, *, change_in: int, back_in: int, restart: bool
) -> tuple[Path, list[str]]:
    """A run of four rounds in which the rows of site c are others from one round to another."""
    job = small_plan(
        write_csv(folder / "reviews.csv"), codec={"name": "plain"}, server={"rounds": 4}
    )
    ready, log = prepare_rehearsal(job, folder / "rows", 3), list[str]()
    owners = [
        owner(name, file, folder / name, tell=log.append if name == "c" else print)
        for name, file in zip("abc", ready.files, strict=True)
    ]
    sites, rows = sites_of(owners, min_sites=2, deadline=0.3), ready.files[2]
    before = rows.read_bytes()

    def spoil(site: str, reply: bytes) -> bytes:
        after = read(reply).subject.round_no + 1  # b replies before c is asked
        if site == "b" and after - 1 == change_in:
            rows.write_bytes(before[: len(before) // 2])
            if restart:
                sites.transport.sites["c"] = OwnerSite(owners[2])
        if site == "b" and after - 1 == back_in:
            rows.write_bytes(before)
        return reply

    sites.transport.spoil = spoil
    return deploy(
        ready.plan, sites, folder / "runs", test=str(ready.test), simulated_noise=True, identity="x"
    ), log


def missing_rounds(place: Path) -> dict[int, str]:
    lost = record.select_entries(list(record.read(place / RECORD)), record.SiteMissing)
    return {one.round_no: one.reason for one in lost if one.site == "c"}


@pytest.mark.parametrize("restart", [False, True])
def test_a_site_sits_out_while_its_rows_are_others(tmp_path, restart) -> None:
    place, log = run_between(tmp_path, change_in=2, back_in=4, restart=restart)
    assert missing_rounds(place) == {2: WHY, 3: WHY}
    refusals = [line for line in log if "refused" in line]
    assert refusals
    assert all("the rows have changed since run small-" in line for line in refusals)
    assert all("put the file back as it was" in line for line in refusals)


def test_rows_that_are_only_written_again_are_the_same(tmp_path) -> None:
    job = small_plan(write_csv(tmp_path / "reviews.csv"), server={"rounds": 2})
    models = []
    for touched in (False, True):
        folder = tmp_path / str(touched)
        ready = prepare_rehearsal(job, folder / "rows", 3)
        owners = [
            owner(name, file, folder / name) for name, file in zip("abc", ready.files, strict=True)
        ]
        sites = sites_of(owners)
        content = ready.files[0].read_bytes()
        if touched:
            sites.transport.spoil = lambda site, reply, file=ready.files[0], content=content: (
                file.write_bytes(content) and reply
            )
        place = deploy(
            ready.plan,
            sites,
            folder / "runs",
            test=str(ready.test),
            simulated_noise=True,
            identity="x",
        )
        assert missing_rounds(place) == {}
        models.append(model_of(place))
    assert models[0] == models[1]


def test_the_fingerprint_is_kept_over_a_restart_and_reveals_no_rows(tmp_path) -> None:
    rows = tmp_path / "rows.csv"
    rows.write_text("a,b\n1,2\n")
    RowsWatch(tmp_path / "rows", str(rows), b"one").check()
    RowsWatch(tmp_path / "other", str(rows), b"two").check()
    assert (tmp_path / "rows").read_bytes() != (tmp_path / "other").read_bytes()
    RowsWatch(tmp_path / "rows", str(rows), b"one").check()
    rows.write_text("a,b\n1,3\n")
    with pytest.raises(ChangedRowsError, match="have changed since run"):
        RowsWatch(tmp_path / "rows", str(rows), b"one").check()
    rows.unlink()
    with pytest.raises(ChangedRowsError, match=r"cannot be read \(No such file"):
        RowsWatch(tmp_path / "rows", str(rows), b"one").check()


def test_a_named_data_set_is_not_watched(tmp_path) -> None:
    RowsWatch(tmp_path / "rows", "newsgroups", b"one").check()
    assert not (tmp_path / "rows").exists()
