"""The server's side of calls from other machines: who calls, whether the role allows it, and what is
logged.

A caller is known by the certificate of the TLS connection, of which TLS has checked that the caller
holds the key. Everything is decided again for each call.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import cast

import msgspec

from tacit.deployment.access import messages
from tacit.deployment.access.access_log import Access, AccessLog, shorten
from tacit.deployment.access.calls import Calls
from tacit.deployment.access.people import AdmittedPeople, KnownPerson
from tacit.deployment.access.roles import ALLOWED, Call, describe_roles
from tacit.deployment.access.run_registry import RunRegistry
from tacit.deployment.provisioning.signed_files import AccessRequestContent, decode_request
from tacit.deployment.transport.superlink.request_filter import Answer, Head, RequestRefused
from tacit.errors import AccessError, TacitError

RUNTIME = "/v1/runtime/"
_RUNTIME_CALLS = {
    "get-nodes",
    "push-messages",
    "push-object",
    "pull-messages",
    "pull-object",
    "confirm-message-received",
    "send-task-heartbeat",
    "pull-task-input",
    "push-task-output",
    "tacit-exchange",
}
"""The calls by which a coordinator's run sends messages and fetches replies."""
_TOKEN = "flwr-task-token"
_EACH_WRITTEN: frozenset[Call] = frozenset(
    {"invite", "admit", "revoke", "restore", "renew-server-certificate", "open-run"}
)
"""Calls of which the log has each one that was allowed; of the others it has the number."""


class Gateway:
    """Lets people call a server, each as their role allows."""

    def __init__(
        self, folder: Path, body_limit: int, tell: Callable[[str], None] = lambda sentence: None
    ) -> None:
        self.people = AdmittedPeople(folder)
        self.log = AccessLog(folder, tell)
        self._runs = RunRegistry(folder)
        self._calls = Calls(folder, self._runs)
        self._body_limit = body_limit

    def authorise(self, head: Head) -> int:
        """Return how many bytes the body may have; raise RequestRefused, and log it, if the caller
        may not make the call.
        """
        call, caller = _find_call(head), self._identify(head)
        if call is None:
            raise RequestRefused(404)
        if caller.role not in ALLOWED[call]:
            why = (
                f"this needs the role {describe_roles(call)}; {caller.name} is admitted as"
                f" {caller.role}"
            )
            self._refuse(head, caller, call, why)
        if call != "carry-messages":
            return messages.LARGEST_BODY
        run = self._runs.find_task(head.headers.get(_TOKEN, ""), caller.name)
        if run is None:
            why = (
                "another process carries this run on, it was stopped, or its access was revoked in"
                " between; nothing is lost: `tacit deploy run --resume` continues it"
            )
            self._refuse(head, caller, call, why, status=410, kind="RunError")
        self._note(head, caller, call, run=run.run if run else "")
        return self._body_limit

    def respond(self, head: Head, body: bytes) -> Answer:
        """Do what an authorised call asks, and log it."""
        call, caller = _find_call(head), self._identify(head)
        assert call is not None
        kind, handler = self._calls.handlers[call]
        try:
            asked = msgspec.json.decode(body or b"{}", type=kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            self._note(head, caller, call, refusal="the body is not as the call needs it")
            return _build_refusal(400, "PeerError", f"{call}: the request is malformed ({error})")
        name = getattr(asked, "run", "") or ""
        subject = _describe_subject(asked)
        try:
            done = handler(asked, caller)
        except TacitError as error:
            self._note(head, caller, call, run=name, about=subject, refusal=str(error))
            status = 403 if isinstance(error, AccessError) else 422
            return _build_refusal(status, type(error).__name__, str(error))
        self._note(head, caller, call, run=name, about=subject)
        if call in ("close-run", "stop-run"):
            self.log.flush(name)
        return Answer(200, msgspec.json.encode(done))

    def refuse_handshake(self, address: str, why: str) -> None:
        """Log a certificate that TLS refused: of nobody here, or ended."""
        self.log.count(
            Access(
                who="unknown",
                role="no role",
                address=shorten(address),
                what="connection with a certificate",
                refusal=f"{shorten(why)}",
            )
        )

    def _identify(self, head: Head) -> KnownPerson:
        """The admitted person who calls; raise RequestRefused, and log it, if there is none."""
        caller = self.people.find(head.certificate) if head.certificate else None
        if caller is None:
            refusal = "no certificate of a person that is admitted here"
            self.log.count(
                Access(
                    who="unknown",
                    role="no role",
                    address=head.address,
                    what=_find_call(head) or "unknown call",
                    refusal=refusal,
                )
            )
            raise RequestRefused(401)
        why = caller.explain_refusal()
        if why is not None:
            self._refuse(head, caller, _find_call(head), f"{why}; ask the server's operator")
        return caller

    def _refuse(
        self,
        head: Head,
        caller: KnownPerson,
        call: Call | None,
        why: str,
        status: int = 403,
        kind: str = "AccessError",
    ) -> None:
        self.log.count(
            Access(
                who=caller.name,
                role=caller.role,
                address=head.address,
                what=call or "unknown call",
                refusal=why,
            )
        )
        raise RequestRefused(status, _build_refusal(status, kind, why).body)

    def _note(
        self,
        head: Head,
        caller: KnownPerson,
        call: Call,
        run: str = "",
        about: str = "",
        refusal: str | None = None,
    ) -> None:
        access = Access(
            who=caller.name,
            role=caller.role,
            address=head.address,
            what=f"{call} {about}" if about else call,
            run=run,
            refusal=None if refusal is None else refusal[:500],
        )
        if call in _EACH_WRITTEN and refusal is None:
            self.log.note(access)
        else:
            self.log.count(access)


def _find_call(head: Head) -> Call | None:
    if head.path.startswith(RUNTIME):
        return "carry-messages" if head.path.removeprefix(RUNTIME) in _RUNTIME_CALLS else None
    name = head.path.rpartition("/")[2]
    return cast(Call, name) if name in ALLOWED and name != "carry-messages" else None


def _describe_subject(asked: messages.CallBody) -> str:
    """For the log: whom a call is about, and in which role if it names one."""
    if isinstance(asked, messages.Admit):
        try:
            found = decode_request(asked.request.encode(), "the request").content
        except (TacitError, UnicodeEncodeError):
            return ""
        return found.name if isinstance(found, AccessRequestContent) else f"site {found.site}"
    if isinstance(asked, messages.Invite) and asked.role is not None:
        return f"{asked.name} as {asked.role}"
    return getattr(asked, "name", "")


def _build_refusal(status: int, kind: str, message: str) -> Answer:
    return Answer(status, msgspec.json.encode(messages.CallRefusal(kind=kind, message=message)))
