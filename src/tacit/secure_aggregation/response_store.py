"""The newest response of a helper, stored on disk before it is sent, so that a round gets one
response only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from tacit import files
from tacit.errors import WireError

_ANSWER = "answer"


class StoredResponse(NamedTuple):
    """A helper's response in a round, and the digest of its request."""

    round_no: int
    request_digest: str
    numbers: NDArray[Any]


class ResponseStore:
    """A file with the newest response of one sum of one run. Without a path it is kept in memory,
    for tests.
    """

    def __init__(self, path: Path | None, binding: str) -> None:
        self._path, self._binding = path, binding
        self._newest: StoredResponse | None = None
        if path is not None and path.exists():
            arrays, facts = files.unseal(path)
            if facts.get("sum") != binding:
                raise WireError(
                    f"{path}: holds a helper's response under another plan or other terms; use a new"
                    " folder"
                )
            self._newest = StoredResponse(int(facts["round"]), facts["question"], arrays[_ANSWER])

    def newest(self) -> StoredResponse | None:
        """The newest response, if there is one."""
        return self._newest

    def save(self, response: StoredResponse) -> None:
        """Replace the stored response; it is on disk when this returns."""
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            facts = {
                "round": str(response.round_no),
                "question": response.request_digest,
                "sum": self._binding,
            }
            files.replace_file(self._path, files.seal({_ANSWER: response.numbers}, facts))
        self._newest = response
