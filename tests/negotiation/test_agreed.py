"""Terms, addresses and the file of a result: what is accepted, and what is refused in one sentence."""

from __future__ import annotations

import json
import math
import os
import pickle  # noqa: TID251 - to show that it is shut
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import PlanError, RunError
from tacit.negotiation import Negotiated, NegotiationTerms, load, parse_addresses, save
from tacit.negotiation.result import bind_result
from tacit.negotiation.terms import LIMIT, STEP, to_steps

TERMS = NegotiationTerms(run="mine", parties=3, levels=8, enlargement=2.0)
AGREED = bind_result(TERMS, -0.25, 0.5, bytes(range(16)))


@pytest.mark.parametrize(
    "changed",
    [
        *({"run": name} for name in ("", "x" * 81, "a\nb")),
        *({"parties": number} for number in (2, 8)),
        *({"levels": number} for number in (0, 33, True)),
        *({"enlargement": number} for number in (0.0, math.nan, math.inf, 2)),
    ],
)
def test_impossible_terms(changed: dict[str, Any]) -> None:
    with pytest.raises(PlanError, match="must"):
        replace(TERMS, **changed)


def test_each_parameter_shows_in_the_digest_of_its_own() -> None:
    for name, changed in (
        ("run", {"run": "other"}),
        ("levels", {"levels": 9}),
        ("enlargement", {"enlargement": 3.0}),
    ):
        other = replace(TERMS, **changed).digests()  # type: ignore[arg-type]
        assert [key for key, digest in TERMS.digests().items() if other[key] != digest] == [name]


@pytest.mark.parametrize(
    "bad", [(1.0, 0.0), (math.nan, 0.0), (0.0, math.inf), (-LIMIT - 1, 0.0), (0.0, LIMIT * 2)]
)
def test_impossible_ranges_are_refused_without_repeating_them(bad: tuple[float, float]) -> None:
    with pytest.raises(PlanError, match="negotiate: --range must") as refused:
        to_steps(*bad)
    assert str(bad[0]) not in str(refused.value) or bad[0] == 0.0


def test_ranges_are_rounded_outwards() -> None:
    assert to_steps(-STEP / 2, STEP / 2) == (-1, 1)
    assert to_steps(-LIMIT, LIMIT) == (-(2**51), 2**51)


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.1:7001",
        "example.org:7001",
        "0.0.0.0:7001",
        "[::]:7001",
        "127.0.0.1",
        "127.0.0.1:0",
        "127.0.0.1:99999",
        ":7001",
        "",
        "127.0.0.1:" + "7" * 5000,
    ],
)
def test_addresses_that_are_not_loopback_are_refused(text: str) -> None:
    with pytest.raises(
        PlanError,
        match=r"negotiate: (addresses must be loopback|the address of a party must be host:port)",
    ):
        parse_addresses(f"127.0.0.1:7000,{text}")


def test_an_address_for_each_party() -> None:
    with pytest.raises(PlanError, match="must have its own address"):
        parse_addresses("127.0.0.1:7000,localhost:7000")


def test_margin_is_never_zero() -> None:
    assert AGREED.margin == 0.25
    assert bind_result(TERMS, 0.0, 0.0, bytes(16)).margin == STEP


def test_a_result_is_kept_for_its_owner_alone_and_comes_back(tmp_path: Path) -> None:
    save(AGREED, tmp_path / "agreed.json")
    assert (tmp_path / "agreed.json").stat().st_mode & 0o777 == 0o600
    assert load(tmp_path / "agreed.json", "mine") == AGREED
    assert AGREED.secret.hex() not in repr(AGREED)
    assert AGREED.terms == TERMS


def test_a_result_is_never_replaced(tmp_path: Path) -> None:
    save(AGREED, tmp_path / "agreed.json")
    with pytest.raises(PlanError, match="already exists"):
        save(AGREED, tmp_path / "agreed.json")
    with pytest.raises(PlanError, match="folder is missing"):
        save(AGREED, tmp_path / "no" / "agreed.json")


def test_a_result_of_another_run_is_refused(tmp_path: Path) -> None:
    save(AGREED, tmp_path / "agreed.json")
    with pytest.raises(RunError, match="negotiated for run 'mine', not for 'other'"):
        load(tmp_path / "agreed.json", "other")


@pytest.mark.parametrize(
    "name", [field for field in Negotiated.__dataclass_fields__ if field != "run"]
)
def test_any_change_is_noticed(tmp_path: Path, name: str) -> None:
    path = tmp_path / "agreed.json"
    save(AGREED, path)
    values = json.loads(path.read_text())
    changed = {
        "parties": 4,
        "levels": 9,
        "enlargement": 3.0,
        "x_min": -0.5,
        "x_max": 1.0,
        "secret": "00" * 16,
    }
    for value in (changed.get(name, "00" * 32), None, [], "x", True, -1e300):
        path.write_text(json.dumps({**values, name: value}))
        with pytest.raises(RunError, match="is damaged"):
            load(path, "mine")


@pytest.mark.parametrize("text", ["", "[]", "{}", "nonsense", "[" * 3000, "\xff\x00"])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "agreed.json"
    path.write_text(text, encoding="latin-1")
    path.chmod(0o600)
    with pytest.raises(RunError, match="is damaged"):
        load(path, "mine")


def test_files_that_others_can_read_links_pipes_and_large_files_are_refused(tmp_path: Path) -> None:
    path, link, pipe = tmp_path / "agreed.json", tmp_path / "link", tmp_path / "pipe"
    save(AGREED, path)
    link.symlink_to(path)
    os.mkfifo(pipe, 0o600)
    for wrong, why in (
        (link, "cannot be read"),
        (pipe, "was not written by"),
        (tmp_path / "none", "cannot be read"),
    ):
        with pytest.raises(RunError, match=why):
            load(wrong, "mine")
    path.chmod(0o640)
    with pytest.raises(RunError, match="other users may read it"):
        load(path, "mine")
    path.chmod(0o600)
    path.write_text(path.read_text() + " " * 5000)
    with pytest.raises(RunError, match="was not written by"):
        load(path, "mine")


def test_importing_mpyc_changes_nothing_in_this_process() -> None:
    pytest.importorskip(
        "tacit.negotiation.shares", reason="mpyc is not installed", exc_type=ImportError
    )
    code = """
import asyncio, logging, os, sys
sys.argv = ["tacit", "negotiate", "-h", "-M", "3", "--parties", "x"]
policy, settings = type(asyncio.get_event_loop_policy()), dict(os.environ)
import tacit.negotiation.shares
assert sys.argv == ["tacit", "negotiate", "-h", "-M", "3", "--parties", "x"]
assert type(asyncio.get_event_loop_policy()) is policy
assert dict(os.environ) == settings
assert logging.root.handlers == [] and logging.root.manager.disable == 0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_mpyc_cannot_unpickle() -> None:
    pytest.importorskip(
        "tacit.negotiation.shares", reason="mpyc is not installed", exc_type=ImportError
    )
    from tacit.negotiation import shares

    with pytest.raises(TypeError, match="nothing is pickled"):
        shares._mpyc.pickle.loads(pickle.dumps(1))
    with pytest.raises(AssertionError, match="must not be opened"):
        shares.Runtime.output(type("Three", (), {"threshold": 1})(), None, threshold=2)  # type: ignore[arg-type]


def test_every_party_puts_in_a_word_as_long_as_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a word of 64 bits half of the secret would be zeros, and one that a server can search for."""
    import asyncio

    from tacit.negotiation import party
    from tacit.negotiation.result import SECRET_BYTES

    words: list[int] = []

    class StoppedError(Exception):
        pass

    class Computation:
        async def share(self, least: int, greatest: int, word: int) -> None:
            words.append(word)
            raise StoppedError

    class Circle:
        async def gather(self) -> None:
            return

    monkeypatch.setattr(party, "_computation", lambda circle: Computation())
    for _ in range(64):
        with pytest.raises(StoppedError):
            asyncio.run(party._work(Circle(), (0, 0), TERMS))  # type: ignore[arg-type]
    assert SECRET_BYTES == 16
    every = 0
    for word in words:
        assert 0 <= word < 1 << 128
        every |= word
    assert every == (1 << 128) - 1, (
        "each bit is drawn: one is missing from 64 words with a probability of 2^-57"
    )
