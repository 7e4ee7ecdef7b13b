"""A server chooses every byte of the model it delivers: a site writes nothing unless all of it is the agreed run's."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from safetensors.numpy import load, save

from tacit.cli.deploy.rehearse import POLICY_OF_A_REHEARSAL
from tacit.deployment import bodies
from tacit.deployment.bodies import Offer
from tacit.deployment.model_delivery import ModelDelivery
from tacit.deployment.server import job as server_job
from tacit.deployment.server.delivery import DELIVERY
from tacit.deployment.server.job import deploy
from tacit.deployment.site.owner_site import OwnerSite
from tacit.protocol.messages.signed_message import MessageSubject, read, write
from tacit.runs import record
from tacit.runs.run_folder import MODEL
from tacit.runs.run_keys import read_record_key
from tacit.simulation.rehearsal import prepare_rehearsal
from tests.deployment.local_post import owner, sites_of
from tests.simulation.small import small_plan, write_csv

Change = Callable[[list[record.Entry], ModelDelivery], ModelDelivery]


class Delivered(NamedTuple):
    """A run whose model was not accepted yet: site a before the end, and what the server sends it."""

    folder: Path
    rows: Path
    run: str
    delivery: ModelDelivery
    key: Ed25519PrivateKey


def run_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Delivered:
    job = small_plan(
        write_csv(folder / "reviews.csv"), codec={"name": "plain"}, server={"rounds": 2}
    )
    ready = prepare_rehearsal(job, folder / "rows", 3)
    owners = [
        owner(name, file, folder / name) for name, file in zip("abc", ready.files, strict=True)
    ]
    sites, handed = sites_of(owners, deadline=0.2), list[MessageSubject]()
    deliver = sites.transport.send

    def send(site: str, message: bytes) -> str:
        subject = read(message).subject
        if subject.kind in ("model", "end"):
            handed.append(subject)
            return "lost"
        return deliver(site, message)

    sites.transport.send = send
    monkeypatch.setattr(server_job, "delete_keys", lambda place: None)
    place = deploy(ready.plan, sites, folder / "runs", test=str(ready.test))
    delivery = bodies.unpack((place / DELIVERY).read_bytes(), ModelDelivery)
    return Delivered(folder / "a", ready.files[0], handed[0].run, delivery, read_record_key(place))


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> Iterator[Delivered]:
    with pytest.MonkeyPatch.context() as patch:
        yield run_once(tmp_path_factory.mktemp("one"), patch)


@pytest.fixture(scope="module")
def other(tmp_path_factory) -> Iterator[Delivered]:
    with pytest.MonkeyPatch.context() as patch:
        yield run_once(tmp_path_factory.mktemp("two"), patch)


class ReceivingSite:
    """A copy of site a that is sent a delivery."""

    def __init__(self, done: Delivered, folder: Path, policy: str = POLICY_OF_A_REHEARSAL) -> None:
        shutil.copytree(done.folder, folder / "a")
        self.done, self.log, self.folder = done, list[str](), folder / "a"
        self.site = OwnerSite(owner("a", done.rows, self.folder, policy, tell=self.log.append))

    def send(self, delivery: ModelDelivery | bytes, **changes: Any) -> str:
        body = delivery if isinstance(delivery, bytes) else bodies.pack(delivery)
        offer = bodies.unpack(self.done.delivery.offer, Offer)
        given = {
            "kind": "model", "run": self.done.run, "plan": hashlib.sha256(offer.plan.encode()).digest(),
            "site": "a", "round_no": 0, "exchange": "model", "nonce": bytes(16), **changes,
        }  # fmt: skip
        return read(self.site.handle(write(MessageSubject(**given), body))).subject.status

    @property
    def files(self) -> list[Path]:
        return sorted(path for path in (self.folder / "models").rglob("*") if path.is_file())


def signed(entries: list[record.Entry], key: Ed25519PrivateKey | None, folder: Path) -> bytes:
    path = folder / "forged.jsonl"
    path.unlink(missing_ok=True)
    writer = record.Writer(path, key=key)
    for entry in entries:
        writer.append(entry)
    writer.sign()
    writer.close()
    return path.read_bytes()


def entries_of(delivery: ModelDelivery) -> list[record.Entry]:
    return record.parse_signed(delivery.record, Path("it"))[0]


def put(entries: list[record.Entry], kind: type, **changes: Any) -> None:
    """Change fields of the entry of a kind."""
    place = next(n for n, one in enumerate(entries) if isinstance(one, kind))
    entries[place] = dataclasses.replace(entries[place], **changes)


def with_arrays(change: Callable[[dict[str, np.ndarray]], None]) -> Change:
    """A model with other arrays, whose hashes the record states truly."""

    def changed(entries: list[record.Entry], delivery: ModelDelivery) -> ModelDelivery:
        arrays = {name: array.copy() for name, array in load(delivery.model).items()}
        change(arrays)
        return with_file(save(arrays))(entries, delivery)

    return changed


def with_file(content: bytes) -> Change:
    def changed(entries: list[record.Entry], delivery: ModelDelivery) -> ModelDelivery:
        put(entries, record.Stored, sha256={MODEL: hashlib.sha256(content).hexdigest()})
        return msgspec.structs.replace(delivery, model=content)

    return changed


def with_entry(kind: type, **changes: Any) -> Change:
    def changed(entries: list[record.Entry], delivery: ModelDelivery) -> ModelDelivery:
        put(entries, kind, **changes)
        return delivery

    return changed


def with_more(entry: record.Entry) -> Change:
    def changed(entries: list[record.Entry], delivery: ModelDelivery) -> ModelDelivery:
        entries.append(entry)
        return delivery

    return changed


def without_releases(entries: list[record.Entry], delivery: ModelDelivery) -> ModelDelivery:
    entries[:] = [
        one for one in entries if not (isinstance(one, record.Released) and one.round_no == 2)
    ]
    return delivery


def with_plan(entries: list[record.Entry], delivery: ModelDelivery) -> ModelDelivery:
    started = entries[0]
    put(entries, record.Started, plan={**started.plan, "ledger": {"delta": 0.5}})  # type: ignore[union-attr]
    return delivery


def first(arrays: dict[str, np.ndarray]) -> str:
    return sorted(arrays)[0]


REFUSED = record.Refused(arm="run", round_no=1, exchange="train", sender="site b", reason="no")
FORGED: dict[str, tuple[Change, str]] = {
    "another file than the record says": (
        lambda entries, one: msgspec.structs.replace(one, model=one.model[:-1] + b"\7"),
        "does not match the SHA-256",
    ),
    "a file that is none": (with_file(b"\xff" * 64), "its model file is malformed"),
    "a header that claims gigabytes": (with_file((1 << 40).to_bytes(8, "little") + b"{}"), "is malformed"),
    "a huge file": (with_file(bytes(4 << 20)), "its model file may have"),
    "a wrong shape": (
        with_arrays(lambda arrays: arrays.update({first(arrays): arrays[first(arrays)].ravel()[:3]})),
        "names or shapes of the stored model",
    ),
    "a further array": (
        with_arrays(lambda arrays: arrays.update({"../../x\x1b[31m": np.zeros(1, np.float32)})),
        "names or shapes of the stored model",
    ),
    "double precision": (
        with_arrays(lambda arrays: arrays.update({first(arrays): arrays[first(arrays)].astype(np.float64)})),
        "must be 32-bit",
    ),
    "a parameter that is no number": (
        with_arrays(lambda arrays: arrays[first(arrays)].fill(np.nan)), "must be finite"
    ),
    "other parameters than the run ended with": (
        with_arrays(lambda arrays: arrays[first(arrays)].fill(1.0)), "its parameters do not match"
    ),
    "other classes": (
        with_entry(record.Prepared, classes=["down", "sideways"]), "and the 2 classes of the terms"
    ),
    "class names with control characters": (
        with_entry(record.Prepared, classes=["down", "up\x1b[2J"]), "control characters"
    ),
    "another number of parameters": (with_entry(record.Prepared, parameters=7), "must have 2,417 parameters"),
    "another number of inputs": (with_entry(record.Prepared, inputs=1), "300 inputs"),
    "another number of clients": (with_entry(record.Prepared, clients=3), "but the terms say 20"),
    "wrong types": (with_entry(record.Prepared, clients="20"), "malformed entry (Prepared)"),
    "another key in the record": (with_entry(record.Started, key="00" * 32), "names another key"),
    "other terms": (with_entry(record.Started, data_fingerprint="00" * 32), "other terms"),
    "another plan": (with_plan, "another plan than the run's: ledger.delta differs"),
    "a round without its release": (without_releases, "its record is not complete"),
    "fewer rounds": (with_entry(record.Finished, rounds=1), "its record is not complete"),
    "a metric that is no number": (
        with_entry(record.Finished, metrics={"accuracy": 10**400}), "malformed entry (Finished)"
    ),
    "a metric with a name to print": (
        with_entry(record.Finished, metrics={"acc\x1b]0;\x07": 0.5}), "control characters"
    ),
    "a longer text than any": (with_entry(record.Prepared, source="x" * 20_000), "too much of it"),
    "entries that sites do not receive": (with_more(REFUSED), "a kind that sites do not receive (Refused)"),
    "two ends": (
        with_more(record.Finished(arm="run", rounds=2, metrics={}, parameters_sha256="", bytes_up=0, bytes_down=0, seconds=0.0)),
        "must have one entry 'Finished', got 2",
    ),
    "a baseline": (
        with_more(record.Round(arm="central", round_no=1, rounds=1, cohort=1, seconds=0.0, bytes_up=0, bytes_down=0)),
        "a kind that sites do not receive (Round)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("way", FORGED)
def test_a_signed_forgery_is_refused(done, tmp_path, way) -> None:
    change, why = FORGED[way]
    entries = entries_of(done.delivery)
    delivery = change(entries, done.delivery)
    delivery = msgspec.structs.replace(delivery, record=signed(entries, done.key, tmp_path))
    site = ReceivingSite(done, tmp_path)
    assert site.send(delivery) == "question"
    assert why in site.log[-1], site.log
    assert "\x1b" not in site.log[-1]
    assert site.files == []


def test_the_true_one_is_accepted_once_and_for_all(done, tmp_path) -> None:
    site = ReceivingSite(done, tmp_path)
    assert site.send(done.delivery) == "ok"
    before = {path: path.read_bytes() for path in site.files}
    assert len(before) == 4
    assert site.send(done.delivery) == "ok"  # sent again
    entries = entries_of(done.delivery)
    put(entries, record.Finished, seconds=0.0)
    forged = msgspec.structs.replace(done.delivery, record=signed(entries, done.key, tmp_path))
    assert site.send(forged) == "question"
    assert "holds another model of run" in site.log[-1]
    assert {path: path.read_bytes() for path in site.files} == before


def test_after_the_end_it_is_accepted_too(done, tmp_path) -> None:
    site = ReceivingSite(done, tmp_path)
    assert site.send(b"", kind="end", exchange="end") == "ok"
    assert site.send(done.delivery) == "ok"
    assert len(site.files) == 4


def test_a_record_signed_by_another_key_is_refused(done, tmp_path) -> None:
    site, entries = ReceivingSite(done, tmp_path), entries_of(done.delivery)
    for key in (Ed25519PrivateKey.generate(), None):
        forged = signed(entries, key, tmp_path)
        assert site.send(msgspec.structs.replace(done.delivery, record=forged)) == "question"
        assert "not signed with the key in the run's terms" in site.log[-1]
    assert site.files == []


def test_a_changed_record_is_refused(done, tmp_path) -> None:
    site, content = ReceivingSite(done, tmp_path), done.delivery.record
    lines = content.splitlines(keepends=True)
    for changed in (
        content.replace(b'"rounds": 2', b'"rounds": 3'),
        content[:-1],
        b"".join(lines[:-1]),
        b"".join([*lines, lines[-1]]),
        b"",
        b"\n",
        json.dumps({"kind": "started"}).encode() + b"\n",
        b"[" * 100_000 + b"\n",
    ):
        assert site.send(msgspec.structs.replace(done.delivery, record=changed)) == "question"
        assert "model refused" in site.log[-1]
    assert site.files == []


def test_a_number_that_is_not_finite_is_refused(done, tmp_path) -> None:
    """JSON as Python reads it knows NaN, which an honest server never writes."""
    entries, write_json = entries_of(done.delivery), json.dumps
    put(entries, record.Finished, seconds=float("nan"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json, "dumps", lambda value, **_: write_json(value))
        forged = signed(entries, done.key, tmp_path)
    site = ReceivingSite(done, tmp_path)
    assert site.send(msgspec.structs.replace(done.delivery, record=forged)) == "question"
    assert "not finite" in site.log[-1]


def test_the_model_of_another_run_is_refused(done, other, tmp_path) -> None:
    site = ReceivingSite(done, tmp_path)
    assert site.send(other.delivery) == "question"  # another plan text: the source differs
    offer = msgspec.structs.replace(other.delivery, offer=done.delivery.offer)
    assert site.send(offer) == "question"
    assert "not signed with the key in the run's terms" in site.log[-1]
    assert site.send(done.delivery, run=other.run) == "unknown run"
    assert "never began here" in site.log[-1]
    assert site.files == []


def test_a_name_that_is_a_path_is_refused(done, tmp_path) -> None:
    site = ReceivingSite(done, tmp_path)
    for name in ("../evil", "/tmp/evil", "a/b", ".", "x\n"):
        assert site.send(done.delivery, run=name) == "question"
        assert "must start with an ASCII letter or digit" in site.log[-1]
    assert site.send(done.delivery, round_no=1) == "question"  # one name, one request
    assert site.send(done.delivery, exchange="models") == "question"
    assert site.files == []


def test_another_plan_or_offer_is_refused(done, tmp_path) -> None:
    site = ReceivingSite(done, tmp_path)
    assert site.send(done.delivery, plan=bytes(32)) == "question"
    assert "but this request is about plan" in site.log[-1]
    offer = bodies.unpack(done.delivery.offer, Offer)
    changed = bodies.pack(msgspec.structs.replace(offer, measures=not offer.measures))
    assert site.send(msgspec.structs.replace(done.delivery, offer=changed)) == "question"
    assert "opened here with another offer" in site.log[-1]
    assert site.send(b"\xc1") == "question"
    assert site.files == []


@pytest.mark.parametrize(
    ("line", "why"),
    [("max_parameters = 100", "limits.max_parameters = 100"), ("max_message_bytes = 1000", "limits.max_message_bytes = 1,000")],
)  # fmt: skip
def test_the_owners_limits_hold(done, tmp_path, line, why) -> None:
    policy = POLICY_OF_A_REHEARSAL.replace("[limits]\n", f"[limits]\n{line}\n")
    site = ReceivingSite(done, tmp_path, policy)
    assert site.send(done.delivery) == "policy"
    assert why in site.log[-1]
    assert site.files == []


def test_no_link_is_followed(done, tmp_path) -> None:
    for number, inside in enumerate(["models", f"models/{done.run}"]):
        site, elsewhere = ReceivingSite(done, tmp_path / str(number)), tmp_path / f"else{number}"
        elsewhere.mkdir()
        (site.folder / inside).parent.mkdir(exist_ok=True)
        (site.folder / inside).symlink_to(elsewhere)
        assert site.send(done.delivery) == "unknown run"
        assert "symbolic link" in site.log[-1]
        assert list(elsewhere.iterdir()) == []


def test_a_model_that_cannot_be_written_leaves_nothing(done, tmp_path, monkeypatch) -> None:
    from tacit.deployment.site.models import received_model

    def full(path: Path, entry: record.Entry) -> None:
        raise OSError(28, "No space left on device")

    site = ReceivingSite(done, tmp_path)
    monkeypatch.setattr(received_model.record, "add", full)
    assert site.send(done.delivery) == "failed"
    assert "No space left on device" in site.log[-1]
    assert list((site.folder / "models").iterdir()) == []
    monkeypatch.undo()
    assert site.send(done.delivery) == "ok"  # the server sends it again


def test_sites_do_not_receive_who_was_refused(done) -> None:
    kinds = {json.loads(line)["kind"] for line in done.delivery.record.splitlines()}
    assert kinds <= {"started", "prepared", "released", "round", "stored", "finished", "signed"}
