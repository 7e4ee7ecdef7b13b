"""The newest answer of a helper, on its disk before it is sent: what makes sure that a round gets
one answer and no other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from tacit import files
from tacit.errors import WireError

_ANSWER = "answer"


class Answer(NamedTuple):
    """What a helper answered in a round, and a digest of what it was asked."""

    round_no: int
    question: str
    numbers: NDArray[Any]


class Stored:
    """One file that holds the newest answer, of one sum of one run. Without a path it is kept in
    memory, for trials.
    """

    def __init__(self, path: Path | None, binding: str) -> None:
        self._path, self._binding = path, binding
        self._newest: Answer | None = None
        if path is not None and path.exists():
            arrays, facts = files.unseal(path)
            if facts.get("sum") != binding:
                raise WireError(
                    f"{path}: holds a helper's answer under another plan or other terms; this run"
                    " cannot go on here"
                )
            self._newest = Answer(int(facts["round"]), facts["question"], arrays[_ANSWER])

    def newest(self) -> Answer | None:
        """Return the newest answer; None if there was none."""
        return self._newest

    def keep(self, answer: Answer) -> None:
        """Put an answer in the place of the one before; it is on the disk when this returns."""
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            facts = {
                "round": str(answer.round_no),
                "question": answer.question,
                "sum": self._binding,
            }
            files.replace_file(self._path, files.seal({_ANSWER: answer.numbers}, facts))
        self._newest = answer
