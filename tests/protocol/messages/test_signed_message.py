"""Letters: bound to subject and body, signed by their site, and nothing but WireError for anything malformed."""

from __future__ import annotations

import hashlib

import msgspec
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.errors import WireError
from tacit.protocol.messages import signed_message
from tacit.protocol.messages.signed_message import MessageSubject

KEY, OTHER = (ec.derive_private_key(number, ec.SECP384R1()) for number in (7, 8))
SUBJECT = MessageSubject(
    kind="ask", run="run-1", plan=bytes(range(32)), site="hospital-a", round_no=3, exchange="train", nonce=bytes(range(16)),
    status="ok", rule="limits.delta", entries=5, head=bytes(range(1, 33)),
)  # fmt: skip
CHANGES = {
    "kind": "help", "run": "run-2", "plan": bytes(32), "site": "hospital-b", "round_no": 4, "exchange": "votes", "nonce": bytes(16),
    "status": "policy", "rule": "", "entries": 6, "head": bytes(32),
}  # fmt: skip


def test_a_letter_comes_back_as_it_was() -> None:
    found = signed_message.read(signed_message.write(SUBJECT, b"body", KEY))
    assert found.subject == SUBJECT
    assert bytes(found.body) == b"body"
    assert found.digest == hashlib.sha256(b"body").digest()
    found.check_signature(KEY.public_key())
    assert signed_message.expect(found, kind="ask", run="run-1", nonce=SUBJECT.nonce) is found
    assert signed_message.read(signed_message.write(SUBJECT, b"")).signature == b""


def test_every_field_is_covered() -> None:
    assert set(CHANGES) == set(MessageSubject.__struct_fields__)


@pytest.mark.parametrize("field", CHANGES)
def test_the_signature_covers_every_field_of_the_subject(field: str) -> None:
    signed = signed_message.read(signed_message.write(SUBJECT, b"body", KEY))
    changed = signed_message.SignedMessage(
        msgspec.structs.replace(SUBJECT, **{field: CHANGES[field]}),
        signed.body,
        signed.digest,
        signed.signature,
    )
    with pytest.raises(WireError, match="is not signed with the site's key"):
        changed.check_signature(KEY.public_key())
    with pytest.raises(WireError, match=f"message of site .* refused: {field} must be"):
        signed_message.expect(changed, **{field: getattr(SUBJECT, field)})


def test_the_signature_covers_the_body_and_is_by_the_site() -> None:
    signed = signed_message.read(signed_message.write(SUBJECT, b"body", KEY))
    with pytest.raises(
        WireError,
        match="message of site 'hospital-a' refused: it is not signed with the site's key",
    ):
        signed.check_signature(OTHER.public_key())
    other = signed_message.SignedMessage(
        SUBJECT, signed.body, hashlib.sha256(b"other").digest(), signed.signature
    )
    with pytest.raises(WireError):
        other.check_signature(KEY.public_key())
    with pytest.raises(WireError):
        signed_message.read(signed_message.write(SUBJECT, b"body")).check_signature(
            KEY.public_key()
        )


def test_a_signature_is_of_a_letter_and_nothing_else() -> None:
    """What a site signs begins with the words `tacit letter`, so no other signature of the key can be used as one."""
    digest = hashlib.sha256(b"body").digest()
    bare = KEY.sign(
        msgspec.msgpack.encode(SUBJECT) + digest, ec.ECDSA(signed_message.hashes.SHA256())
    )
    with pytest.raises(WireError):
        signed_message.SignedMessage(SUBJECT, memoryview(b"body"), digest, bare).check_signature(
            KEY.public_key()
        )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "message of 0 bytes refused: it must have at least 8 bytes"),
        (b"TAL1\0\0\0", "message of 7 bytes refused"),
        (b"TAL2" + bytes(8), "not a Tacit message: it must start with b'TAL1', got b'TAL2'"),
        (b"TAL1" + (4097).to_bytes(4, "little") + bytes(5000), "header of 4097 bytes does not fit"),
        (b"TAL1" + (9).to_bytes(4, "little") + bytes(8), "header of 9 bytes does not fit"),
        (b"TAL1" + (3).to_bytes(4, "little") + b"\xc1\xc1\xc1", "its header is malformed"),
        (signed_message.write(SUBJECT, b"body", KEY)[:-1], "header says 4 bytes, got 3"),
        (signed_message.write(SUBJECT, b"body", KEY) + b"x", "header says 4 bytes, got 5"),
        (
            signed_message.write(SUBJECT, b"body", KEY)[:-1] + b"z",
            "message body does not match its SHA-256",
        ),
    ],
)
def test_malformed_letters_are_refused_with_the_reason(data: bytes, words: str) -> None:
    with pytest.raises(WireError) as refused:
        signed_message.read(data)
    assert words in str(refused.value)


@given(st.binary(max_size=200))
@settings(max_examples=300, deadline=None)
def test_noise_is_refused(data: bytes) -> None:
    with pytest.raises(WireError):
        signed_message.read(data)
    with pytest.raises(WireError):
        signed_message.read(b"TAL1" + data)


def test_a_letter_of_the_longest_words_can_be_read() -> None:
    long = msgspec.structs.replace(
        SUBJECT, run="r" * 80, site="s" * 80, exchange="e" * 80, rule="x" * 200, entries=2**62
    )
    assert signed_message.read(signed_message.write(long, b"", KEY)).subject == long
    for key, value in (
        ("run", "r" * 81),
        ("rule", "x" * 201),
        ("entries", -1),
        ("kind", "other"),
        ("nonce", b"1"),
    ):
        with pytest.raises(WireError, match="malformed"):
            signed_message.read(
                signed_message.write(msgspec.structs.replace(SUBJECT, **{key: value}), b"")
            )


def test_what_is_signed_is_fixed() -> None:
    """A label, the subject and the body's hash: another implementation must sign the same bytes."""
    found = signed_message.read(signed_message.write(SUBJECT, b"body", KEY))
    signed = b"tacit letter" + msgspec.msgpack.encode(SUBJECT) + hashlib.sha256(b"body").digest()
    KEY.public_key().verify(found.signature, signed, ec.ECDSA(hashes.SHA256()))
    assert found.body.format == "B"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"TAL1\0\0\0", "message of 7 bytes refused: it must have at least 8 bytes"),
        (b"TAL1\0\0\0\0", "message refused: its header is malformed"),
        (
            b"TAL1" + (4096).to_bytes(4, "little") + bytes(4096),
            "message refused: its header is malformed",
        ),
        (
            b"TAL1" + (4097).to_bytes(4, "little") + bytes(4097),
            "message refused: header of 4097 bytes does not fit",
        ),
    ],
)
def test_the_smallest_and_the_largest_header(data: bytes, said: str) -> None:
    with pytest.raises(WireError) as error:
        signed_message.read(data)
    assert str(error.value).startswith(said)


def test_what_differs_is_named() -> None:
    found = signed_message.read(signed_message.write(SUBJECT, b"body"))
    for wanted, said in (
        ({"plan": bytes(32)}, "plan must be 0000000000000000, got 0001020304050607"),
        ({"run": "run-2"}, "run must be 'run-2', got 'run-1'"),
        ({"kind": "ask", "round_no": 4}, "round_no must be 4, got 3"),
    ):
        with pytest.raises(WireError) as error:
            signed_message.expect(found, **wanted)
        assert str(error.value) == f"message of site 'hospital-a' refused: {said}"
